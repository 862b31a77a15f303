// Names of kernels as CUDA registers them in PyTorch 2.6 (and as other libraries write them): which are an
// optimizer's update.
#include "collector/patterns/optimizer_names.h"

#include <gtest/gtest.h>

namespace ddpscope::patterns {
namespace {

#define PYTORCH_MULTI_TENSOR(file, functor)   \
  "_ZN2at6native50_GLOBAL__N__c32bc2c2_" file \
  "25multi_tensor_apply_kernelINS1_18TensorListMetadataILi2EEENS1_" functor

constexpr const char* kOptimizers[] = {
    PYTORCH_MULTI_TENSOR(
        "18_fused_adam_impl_cu_454205f3",
        "20FusedAdamMathFunctorIN3c104HalfELi4ELNS0_9ADAM_MODEE0ELb0EEEJPKfdddddbSB_SB_EEEvT_T0_DpT1_"),
    PYTORCH_MULTI_TENSOR("17_FusedSgdKernel_cu_a550329a",
                         "19FusedSgdMathFunctorIfLi2EEEJddPfddbbbS7_S7_EEEvT_T0_DpT1_"),
    PYTORCH_MULTI_TENSOR("21_ForeachPointwiseOp_cu_ef478fac",
                         "28PointwiseOpScalarListFunctorIfLi3ELi3ELi0EEEJSt7dividesIfEEEEvT_T0_DpT1_"),
    PYTORCH_MULTI_TENSOR("22_ForeachBinaryOpList_cu_a911ec43",
                         "24BinaryOpListAlphaFunctorIfLi2ELi2ELi0EEEJSt4plusIfEfEEEvT_T0_DpT1_"),
    ("_ZN2at6native18elementwise_kernelILi128ELi2E18__nv_hdl_wrapper_tILb0ELb0ELb0E11__nv_dl_tagIPFvRNS_"
     "18TensorIteratorBaseERKN3c106ScalarEEXadL_ZNS0_19addcdiv_cuda_kernelES5_S9_EELj3EEEEEviT1_"),
    "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float, float>, float>(long, int "
    "volatile*)",
    "_Z25multi_tensor_apply_kernelI18TensorListMetadataILi3EE16DistOptLAMBStage2FunctorIfffEEvlPViT_T0_",
    "_Z10SGDFunctorILi3EffEvv",
    "lamb_cuda_kernel_part3",
    "_Z21kOptimizer32bit2StateI6__halfLi0EEvPT_S2_PfS3_",
    "_Z13adamw_kernel3IffEvPT_PfPT0_S2_S2_m",
    "adamw",
    "apply_sgd",
    "muon_step",
};

constexpr const char* kOthers[] = {
    PYTORCH_MULTI_TENSOR("21_ForeachPointwiseOp_cu_ef478fac",
                         "28PointwiseOpScalarListFunctorIfLi3ELi3ELi0EEEJSt10multipliesIfEEEEvT_T0_DpT1_"),
    PYTORCH_MULTI_TENSOR("22_ForeachBinaryOpList_cu_a911ec43",
                         "24BinaryOpListAlphaFunctorIfLi2ELi2ELi0EEEJSt5minusIfEfEEEvT_T0_DpT1_"),
    // Clipping, unscaling, averages.
    PYTORCH_MULTI_TENSOR("24_ForeachBinaryOpScalar_cu_86b9896c",
                         "21BinaryOpScalarFunctorIfLi1ELi1ELi0EEEJSt10multipliesIfEfEEEvT_T0_DpT1_"),
    PYTORCH_MULTI_TENSOR("19_ForeachReduceOp_cu_b83ec48c",
                         "13LpNormFunctorIdLNS0_8NormTypeE1EfLi1ELi1ELi0EEEJPfiEEEvT_T0_DpT1_"),
    PYTORCH_MULTI_TENSOR("19_ForeachTernaryOp_cu_5285c636",
                         "22TernaryOpScalarFunctorIfLi2ELi2ELi0EEEJNS0_11LerpFunctorIfEEfEEEvT_T0_DpT1_"),
    ("void at::native::vectorized_elementwise_kernel<4, at::native::exp_kernel(at::TensorIteratorBase&)::"
     "{lambda(float)#1}, std::array<char*, 2> >(int, at::native::exp_kernel::{lambda(float)#1})"),
    "count_millions",
    "medallion",
    "adamant_forward",
    "madam",
    "msgdata",
    "optimizers_state_copy",
    "amp_update_scale",
    "",
};

TEST(OptimizerKernels, AreKnownByTheirNames) {
  for (const char* name : kOptimizers) EXPECT_TRUE(is_optimizer_kernel(name)) << name;
}

TEST(OptimizerKernels, AreNotTakenForOthers) {
  for (const char* name : kOthers) EXPECT_FALSE(is_optimizer_kernel(name)) << name;
}

TEST(OptimizerRanges, AreKnownByTheirNames) {
  for (const char* name : {"Optimizer.step#AdamW.step", "optimizer_step", "optimizer step 12",
                           "OptimizerStep", "trainer/optim_step", "update_weights", "update params"})
    EXPECT_TRUE(is_optimizer_range(name)) << name;
}

TEST(OptimizerRanges, AreNotTakenForOthers) {
  for (const char* name :
       {"Optimizer.zero_grad#AdamW.zero_grad", "optimizer", "step 12", "train_step", "lr_scheduler.step",
        "optimizersteps", "update", "weights", "prepare optimizer step", "pre_optimizer_step_hook",
        "optimizer_step: unscale", ""})
    EXPECT_FALSE(is_optimizer_range(name)) << name;
}

}  // namespace
}  // namespace ddpscope::patterns
