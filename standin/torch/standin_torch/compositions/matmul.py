"""Matrix products whose result has another type than their factors, and scaled ones."""
import torch

from .registry import writes, writes_out


@writes("mm.dtype")
def mm(self, mat2, out_dtype):
    return torch.mm(self.to(out_dtype), mat2.to(out_dtype))


@writes("bmm.dtype")
def bmm(self, mat2, out_dtype):
    return torch.bmm(self.to(out_dtype), mat2.to(out_dtype))


@writes("addmm.dtype")
def addmm(self, mat1, mat2, out_dtype, *, beta=1, alpha=1):
    return torch.addmm(self.to(out_dtype), mat1.to(out_dtype), mat2.to(out_dtype), beta=beta, alpha=alpha)


@writes("baddbmm.dtype")
def baddbmm(self, batch1, batch2, out_dtype, *, beta=1, alpha=1):
    return torch.baddbmm(self.to(out_dtype), batch1.to(out_dtype), batch2.to(out_dtype), beta=beta, alpha=alpha)


for _name in ("mm", "bmm", "addmm", "baddbmm"):
    writes_out(_name + ".dtype_out", of=_name + ".dtype")


@writes("_scaled_grouped_mm")
def scaled_grouped_mm(self, mat2, scale_a, scale_b, offs=None, bias=None, scale_result=None, out_dtype=None,
                      use_fast_accum=False):
    """One scale a row of each group's left factor and a column of its right one."""
    left = self.float() * _row_scales(scale_a, self, -1)
    right = mat2.float() * _row_scales(scale_b, mat2, -2)
    result = _grouped(left, right, offs)
    if bias is not None:
        result = result + bias
    return result.to(out_dtype or torch.bfloat16)


def _row_scales(scale, factor, dim):
    if scale.dim() == factor.dim() - 1:
        return scale.unsqueeze(dim)
    return scale.reshape(*factor.shape[:dim], 1) if dim == -1 else scale.reshape(1, -1)


def _grouped(left, right, offs):
    if left.dim() == 3 and right.dim() == 3:
        return torch.bmm(left, right)
    ends = offs.tolist()
    begins = [0] + ends[:-1]
    if left.dim() == 2 and right.dim() == 3:
        return torch.cat([left[b:e] @ right[i] for i, (b, e) in enumerate(zip(begins, ends))])
    if left.dim() == 3:
        return torch.cat([left[i] @ right[:, b:e] for i, (b, e) in enumerate(zip(begins, ends))], 1)
    return torch.stack([left[:, b:e] @ right[b:e] for b, e in zip(begins, ends)])


@writes("_convert_weight_to_int4pack")
def convert_weight_to_int4pack(self, innerKTiles):
    """A GPU's order of the bytes has to do with its matrix units; here they stay as they are. Two numbers a byte."""
    rows, columns = self.shape[0], 2 * self.shape[1]
    packed = self.contiguous().view(torch.int32)
    return packed.reshape(rows // 8, columns // (innerKTiles * 16), 32, innerKTiles // 2).clone()


@writes("_weight_int4pack_mm")
def weight_int4pack_mm(self, mat2, qGroupSize, qScaleAndZeros):
    rows = 8 * mat2.shape[0]
    pairs = mat2.contiguous().view(torch.uint8).reshape(rows, -1).to(torch.int32)
    numbers = torch.stack([pairs >> 4, pairs & 15], -1).reshape(rows, -1)
    scales, zeros = (qScaleAndZeros[..., i].t().repeat_interleave(qGroupSize, 1).float() for i in (0, 1))
    return torch.mm(self.float(), ((numbers - 8) * scales + zeros).t()).to(self.dtype)
