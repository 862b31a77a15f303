// The stand-in cuBLAS' levels 1 and 2 against plain loops in double precision.
#include "tests/standin/cublas_fixture.h"

namespace {

using namespace blas_test;

template <class T>
class CublasVectors : public ByType<T> {};
TYPED_TEST_SUITE(CublasVectors, Types);

TYPED_TEST(CublasVectors, MatrixVectorProducts) {
  using T = TypeParam;
  const int m = 4, n = 5;
  const Argument<T> alpha(this->alpha_, kModes[0]), beta(this->beta_, kModes[0]);
  for (const auto operation : kOperations)
    for (const int step : {1, 2, -2}) {
      const int rows = operation == CUBLAS_OP_N ? m : n, columns = operation == CUBLAS_OP_N ? n : m;
      const Matrix<T> a(m, n);
      const Vector<T> x(columns, step), y(rows, -step);
      OK(Blas<T>::gemv(this->handle, operation, m, n, alpha.get(), a.data(), a.leading, x.data(), step,
                       beta.get(), y.data(), -step));
      y.expect(
          [&](int i) {
            return alpha.value() * sum(columns, [&](int j) { return a.at(operation, i, j) * x.at(j); }) +
                   beta.value() * y.at(i);
          },
          "gemv");
    }
  for (const auto fill : kFills) {
    const Matrix<T> a(n, n);
    const Vector<T> x(n, 2), y(n, 1), z(n, 1);
    const auto expected = [&](const Vector<T>& output, bool hermitian) {
      return [&, hermitian](int i) {
        return alpha.value() * sum(n, [&](int j) { return symmetric(a, fill, i, j, hermitian) * x.at(j); }) +
               beta.value() * output.at(i);
      };
    };
    OK(Blas<T>::symv(this->handle, fill, n, alpha.get(), a.data(), a.leading, x.data(), 2, beta.get(),
                     y.data(), 1));
    y.expect(expected(y, false), "symv");
    if constexpr (is_complex<T>) {
      OK(Blas<T>::hemv(this->handle, fill, n, alpha.get(), a.data(), a.leading, x.data(), 2, beta.get(),
                       z.data(), 1));
      z.expect(expected(z, true), "hemv");
    }
  }
}

TYPED_TEST(CublasVectors, OuterProducts) {
  using T = TypeParam;
  const int m = 4, n = 3;
  const Argument<T> alpha(this->alpha_, kModes[0]);
  const Vector<T> x(m, 2), y(n, -1);
  const Matrix<T> a(m, n), b(m, n);
  OK(Blas<T>::ger(this->handle, m, n, alpha.get(), x.data(), 2, y.data(), -1, a.data(), a.leading));
  a.expect([&](int i, int j) { return alpha.value() * x.at(i) * y.at(j) + a.at(i, j); }, "ger");
  OK(Blas<T>::gerc(this->handle, m, n, alpha.get(), x.data(), 2, y.data(), -1, b.data(), b.leading));
  b.expect([&](int i, int j) { return alpha.value() * x.at(i) * std::conj(y.at(j)) + b.at(i, j); }, "gerc");
  for (const auto fill : kFills) {
    const Vector<T> u(n, 1), v(n, 2);
    const Matrix<T> c(n, n), d(n, n);
    OK(Blas<T>::syr(this->handle, fill, n, alpha.get(), u.data(), 1, c.data(), c.leading));
    c.expect(
        [&](int i, int j) {
          return c.at(i, j) + (in_triangle(fill, i, j) ? alpha.value() * u.at(i) * u.at(j) : Wide(0));
        },
        "syr");
    OK(Blas<T>::syr2(this->handle, fill, n, alpha.get(), u.data(), 1, v.data(), 2, d.data(), d.leading));
    d.expect(
        [&](int i, int j) {
          const Wide update = alpha.value() * (u.at(i) * v.at(j) + v.at(i) * u.at(j));
          return d.at(i, j) + (in_triangle(fill, i, j) ? update : Wide(0));
        },
        "syr2");
  }
}

TYPED_TEST(CublasVectors, TriangularMatricesAndVectors) {
  using T = TypeParam;
  const int n = 4;
  for (const auto fill : kFills)
    for (const auto operation : kOperations)
      for (const auto diagonal : kDiagonals) {
        Matrix<T> a(n, n);
        a.make_dominant();
        const Vector<T> x(n, 2);
        const auto at = [&](int i, int j) {
          if (operation == CUBLAS_OP_N) return triangular(a, fill, diagonal, i, j);
          const Wide turned = triangular(a, fill, diagonal, j, i);
          return operation == CUBLAS_OP_T ? turned : std::conj(turned);
        };
        const auto product = [&](int i) { return sum(n, [&](int j) { return at(i, j) * x.at(j); }); };
        OK(Blas<T>::trmv(this->handle, fill, operation, diagonal, n, a.data(), a.leading, x.data(), 2));
        x.expect(product, "trmv");
        OK(Blas<T>::trsv(this->handle, fill, operation, diagonal, n, a.data(), a.leading, x.data(), 2));
        x.expect([&](int i) { return x.at(i); }, "trsv");
        const Device<T> stored(std::size_t(n * (n + 1) / 2));
        OK(Blas<T>::trttp(this->handle, fill, n, a.data(), a.leading, stored.get()));
        OK(Blas<T>::tpmv(this->handle, fill, operation, diagonal, n, stored.get(), x.data(), 2));
        x.expect(product, "tpmv");
        const Matrix<T> unpacked(n, n);
        OK(Blas<T>::tpttr(this->handle, fill, n, stored.get(), unpacked.data(), unpacked.leading));
        unpacked.expect(
            [&](int i, int j) { return in_triangle(fill, i, j) ? a.at(i, j) : unpacked.at(i, j); }, "tpttr");
      }
}

TYPED_TEST(CublasVectors, Vectors) {
  using T = TypeParam;
  using R = typename Blas<T>::Real;
  const int n = 7;
  for (const auto mode : kModes) {
    this->handle.point(mode);
    const Vector<T> x(n, 2), y(n, -1), z(n, 1);
    const Argument<T> alpha(this->alpha_, mode);
    OK(Blas<T>::axpy(this->handle, n, alpha.get(), x.data(), 2, y.data(), -1));
    y.expect([&](int i) { return alpha.value() * x.at(i) + y.at(i); }, "axpy");
    OK(Blas<T>::scal(this->handle, n, alpha.get(), z.data(), 1));
    z.expect([&](int i) { return alpha.value() * z.at(i); }, "scal");
    OK(Blas<T>::copy(this->handle, n, x.data(), 2, z.data(), 1));
    z.expect([&](int i) { return x.at(i); }, "copy");

    const Argument<R> real(0, mode);
    const Argument<T> dot(0, mode);
    const Argument<int> index(0, mode);
    const auto read = [&](auto* pointer) {
      auto value = *pointer;
      EXPECT_EQ(cudaMemcpy(&value, pointer, sizeof value, cudaMemcpyDefault), cudaSuccess);
      return widen(value);
    };
    const auto size = [&](int i) { return std::abs(x.at(i).real()) + std::abs(x.at(i).imag()); };
    OK(Blas<T>::asum(this->handle, n, x.data(), 2, const_cast<R*>(real.get())));
    EXPECT_NEAR(read(real.get()).real(), sum(n, [&](int i) { return Wide(size(i)); }).real(),
                tolerance<T> * n);
    OK(Blas<T>::nrm2(this->handle, n, x.data(), 2, const_cast<R*>(real.get())));
    const double norm = std::sqrt(sum(n, [&](int i) { return Wide(std::norm(x.at(i))); }).real());
    EXPECT_NEAR(read(real.get()).real(), norm, tolerance<T> * n);
    const Vector<T> w(n, 3);
    OK(Blas<T>::dotc(this->handle, n, x.data(), 2, w.data(), 3, const_cast<T*>(dot.get())));
    EXPECT_LE(std::abs(read(dot.get()) - sum(n, [&](int i) { return std::conj(x.at(i)) * w.at(i); })),
              tolerance<T> * n);
    OK(Blas<T>::dot(this->handle, n, x.data(), 2, w.data(), 3, const_cast<T*>(dot.get())));
    EXPECT_LE(std::abs(read(dot.get()) - sum(n, [&](int i) { return x.at(i) * w.at(i); })), tolerance<T> * n);
    int largest = 0, smallest = 0;
    for (int i = 1; i < n; ++i) {
      if (size(i) > size(largest)) largest = i;
      if (size(i) < size(smallest)) smallest = i;
    }
    OK(Blas<T>::amax(this->handle, n, x.data(), 2, const_cast<int*>(index.get())));
    EXPECT_EQ(read(index.get()).real(), largest + 1);
    OK(Blas<T>::amin(this->handle, n, x.data(), 2, const_cast<int*>(index.get())));
    EXPECT_EQ(read(index.get()).real(), smallest + 1);
  }
}

TYPED_TEST(CublasVectors, Rotations) {
  using T = TypeParam;
  using R = typename Blas<T>::Real;
  const int n = 5;
  const Vector<T> x(n, 2), y(n, -1);
  const R c = R(0.6);
  const T s = narrow<T>(is_complex<T> ? Wide(0.48, 0.64) : Wide(0.8));
  OK(Blas<T>::rot(this->handle, n, x.data(), 2, y.data(), -1, &c, &s));
  x.expect([&](int i) { return double(c) * x.at(i) + widen(s) * y.at(i); }, "x of rot");
  y.expect([&](int i) { return double(c) * y.at(i) - std::conj(widen(s)) * x.at(i); }, "y of rot");
  const Vector<T> u(n, 1), v(n, 1);
  OK(Blas<T>::swap(this->handle, n, u.data(), 1, v.data(), 1));
  u.expect([&](int i) { return v.at(i); }, "u of swap");
  v.expect([&](int i) { return u.at(i); }, "v of swap");
}

}  // namespace
