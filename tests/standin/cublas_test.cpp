// The stand-in cuBLAS' level 3 against plain loops in double precision.
#include "tests/standin/cublas_fixture.h"

namespace {

using namespace blas_test;

template <class T>
class Cublas : public ByType<T> {};
TYPED_TEST_SUITE(Cublas, Types);

template <class T>
Matrix<T> factor(cublasOperation_t operation, int rows, int columns) {
  return operation == CUBLAS_OP_N ? Matrix<T>(rows, columns) : Matrix<T>(columns, rows);
}

TYPED_TEST(Cublas, GemmOfEveryOperationAndPointerMode) {
  using T = TypeParam;
  const int m = 5, n = 4, k = 7;
  for (const auto mode : kModes)
    for (const auto ta : kOperations)
      for (const auto tb : kOperations) {
        this->handle.point(mode);
        const Matrix<T> a = factor<T>(ta, m, k), b = factor<T>(tb, k, n), c(m, n), d(m, n);
        const Argument<T> alpha(this->alpha_, mode), beta(this->beta_, mode), zero(0, mode);
        const auto product = [&](int i, int j) {
          return alpha.value() * sum(k, [&](int l) { return a.at(ta, i, l) * b.at(tb, l, j); });
        };
        OK(Blas<T>::gemm(this->handle, ta, tb, m, n, k, alpha.get(), a.data(), a.leading, b.data(), b.leading,
                         beta.get(), c.data(), c.leading));
        c.expect([&](int i, int j) { return product(i, j) + beta.value() * c.at(i, j); }, "gemm");
        OK(Blas<T>::gemm_64(this->handle, ta, tb, m, n, k, alpha.get(), a.data(), a.leading, b.data(),
                            b.leading, zero.get(), d.data(), d.leading));
        d.expect(product, "gemm_64");
      }
}

TYPED_TEST(Cublas, BatchesOfProducts) {
  using T = TypeParam;
  const int m = 3, n = 2, k = 4, batches = 3;
  const Matrix<T> a(m, k * batches, 0), b(k, n * batches, 0), c(m, n * batches, 0), d(m, n * batches, 0);
  const Argument<T> alpha(this->alpha_, kModes[0]), beta(this->beta_, kModes[0]);
  const auto expected = [&](const Matrix<T>& output) {
    return [&](int i, int j) {
      const int batch = j / n;
      return alpha.value() * sum(k, [&](int l) { return a.at(i, batch * k + l) * b.at(l, j); }) +
             beta.value() * output.at(i, j);
    };
  };
  OK(Blas<T>::gemm_strided(this->handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, alpha.get(), a.data(), m, m * k,
                           b.data(), k, k * n, beta.get(), c.data(), m, m * n, batches));
  c.expect(expected(c), "strided");
  std::vector<const T*> as, bs;
  std::vector<T*> ds;
  for (int i = 0; i < batches; ++i) {
    as.push_back(a.data() + i * m * k);
    bs.push_back(b.data() + i * k * n);
    ds.push_back(d.data() + i * m * n);
  }
  const Device<const T*> aa(as), bb(bs);
  const Device<T*> dd(ds);
  OK(Blas<T>::gemm_batched(this->handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, alpha.get(), aa.get(), m,
                           bb.get(), k, beta.get(), dd.get(), m, batches));
  d.expect(expected(d), "pointers");
}

TYPED_TEST(Cublas, SymmetricProducts) {
  using T = TypeParam;
  const int m = 4, n = 5;
  const Argument<T> alpha(this->alpha_, kModes[0]), beta(this->beta_, kModes[0]);
  for (const auto side : kSides)
    for (const auto fill : kFills) {
      const int order = side == CUBLAS_SIDE_LEFT ? m : n;
      const Matrix<T> a(order, order), b(m, n), c(m, n), d(m, n);
      const auto expected = [&](const Matrix<T>& output, bool hermitian) {
        return [&, hermitian](int i, int j) {
          const Wide product = sum(order, [&](int l) {
            return side == CUBLAS_SIDE_LEFT ? symmetric(a, fill, i, l, hermitian) * b.at(l, j)
                                            : b.at(i, l) * symmetric(a, fill, l, j, hermitian);
          });
          return alpha.value() * product + beta.value() * output.at(i, j);
        };
      };
      OK(Blas<T>::symm(this->handle, side, fill, m, n, alpha.get(), a.data(), a.leading, b.data(), b.leading,
                       beta.get(), c.data(), c.leading));
      c.expect(expected(c, false), "symm");
      if constexpr (is_complex<T>) {
        OK(Blas<T>::hemm(this->handle, side, fill, m, n, alpha.get(), a.data(), a.leading, b.data(),
                         b.leading, beta.get(), d.data(), d.leading));
        d.expect(expected(d, true), "hemm");
      }
    }
}

TYPED_TEST(Cublas, RankUpdates) {
  using T = TypeParam;
  const int n = 4, k = 3;
  const Argument<T> alpha(this->alpha_, kModes[0]), beta(this->beta_, kModes[0]);
  for (const auto fill : kFills)
    for (const auto operation : {CUBLAS_OP_N, CUBLAS_OP_T}) {
      const auto other = operation == CUBLAS_OP_N ? CUBLAS_OP_T : CUBLAS_OP_N;
      const Matrix<T> a = factor<T>(operation, n, k), b = factor<T>(operation, n, k), c(n, n), d(n, n),
                      e(n, n);
      const auto product = [&](const Matrix<T>& x, const Matrix<T>& y, int i, int j) {
        return sum(k, [&](int l) { return x.at(operation, i, l) * y.at(other, l, j); });
      };
      const auto stored = [&](const Matrix<T>& output, auto update) {
        return [&, update](int i, int j) {
          if (!in_triangle(fill, i, j)) return output.at(i, j);
          return alpha.value() * update(i, j) + beta.value() * output.at(i, j);
        };
      };
      OK(Blas<T>::syrk(this->handle, fill, operation, n, k, alpha.get(), a.data(), a.leading, beta.get(),
                       c.data(), c.leading));
      c.expect(stored(c, [&](int i, int j) { return product(a, a, i, j); }), "syrk");
      OK(Blas<T>::syr2k(this->handle, fill, operation, n, k, alpha.get(), a.data(), a.leading, b.data(),
                        b.leading, beta.get(), d.data(), d.leading));
      d.expect(stored(d, [&](int i, int j) { return product(a, b, i, j) + product(b, a, i, j); }), "syr2k");
      OK(Blas<T>::syrkx(this->handle, fill, operation, n, k, alpha.get(), a.data(), a.leading, b.data(),
                        b.leading, beta.get(), e.data(), e.leading));
      e.expect(stored(e, [&](int i, int j) { return product(a, b, i, j); }), "syrkx");
    }
}

TYPED_TEST(Cublas, HermitianRankUpdates) {
  using T = TypeParam;
  if constexpr (is_complex<T>) {
    using R = typename Blas<T>::Real;
    const int n = 4, k = 3;
    const R real_alpha = R(0.75), real_beta = R(-0.5);
    const Argument<T> alpha(this->alpha_, kModes[0]);
    for (const auto fill : kFills)
      for (const auto operation : {CUBLAS_OP_N, CUBLAS_OP_C}) {
        const auto other = operation == CUBLAS_OP_N ? CUBLAS_OP_C : CUBLAS_OP_N;
        const Matrix<T> a = factor<T>(operation, n, k), b = factor<T>(operation, n, k), c(n, n), d(n, n);
        const auto product = [&](const Matrix<T>& x, const Matrix<T>& y, int i, int j) {
          return sum(k, [&](int l) { return x.at(operation, i, l) * y.at(other, l, j); });
        };
        const auto stored = [&](const Matrix<T>& output, auto update) {
          return [&, update](int i, int j) {
            if (!in_triangle(fill, i, j)) return output.at(i, j);
            const Wide before = i == j ? Wide(output.at(i, j).real()) : output.at(i, j);
            return update(i, j) + double(real_beta) * before;
          };
        };
        OK(Blas<T>::herk(this->handle, fill, operation, n, k, &real_alpha, a.data(), a.leading, &real_beta,
                         c.data(), c.leading));
        c.expect(stored(c, [&](int i, int j) { return double(real_alpha) * product(a, a, i, j); }), "herk");
        OK(Blas<T>::her2k(this->handle, fill, operation, n, k, alpha.get(), a.data(), a.leading, b.data(),
                          b.leading, &real_beta, d.data(), d.leading));
        d.expect(stored(d,
                        [&](int i, int j) {
                          return alpha.value() * product(a, b, i, j) +
                                 std::conj(alpha.value()) * product(b, a, i, j);
                        }),
                 "her2k");
      }
  }
}

TYPED_TEST(Cublas, TriangularProductsAndSolutions) {
  using T = TypeParam;
  const int m = 4, n = 3;
  const Argument<T> alpha(this->alpha_, kModes[0]);
  for (const auto side : kSides)
    for (const auto fill : kFills)
      for (const auto operation : kOperations)
        for (const auto diagonal : kDiagonals) {
          const int order = side == CUBLAS_SIDE_LEFT ? m : n;
          Matrix<T> a(order, order);
          a.make_dominant();
          const Matrix<T> b(m, n), c(m, n), x(m, n);
          const auto factor_at = [&](int i, int j) {
            if (operation == CUBLAS_OP_N) return triangular(a, fill, diagonal, i, j);
            const Wide turned = triangular(a, fill, diagonal, j, i);
            return operation == CUBLAS_OP_T ? turned : std::conj(turned);
          };
          const auto times = [&](auto at, int i, int j) {
            return sum(order, [&](int l) {
              return side == CUBLAS_SIDE_LEFT ? factor_at(i, l) * at(l, j) : at(i, l) * factor_at(l, j);
            });
          };
          OK(Blas<T>::trmm(this->handle, side, fill, operation, diagonal, m, n, alpha.get(), a.data(),
                           a.leading, b.data(), b.leading, c.data(), c.leading));
          c.expect(
              [&](int i, int j) {
                return alpha.value() * times([&](int p, int q) { return b.at(p, q); }, i, j);
              },
              "trmm");
          OK(Blas<T>::trsm(this->handle, side, fill, operation, diagonal, m, n, alpha.get(), a.data(),
                           a.leading, x.data(), x.leading));
          const std::vector<T> solved = x.device.values();
          for (int j = 0; j < n; ++j)
            for (int i = 0; i < m; ++i) {
              const auto at = [&](int p, int q) { return widen(solved[std::size_t(p + q * x.leading)]); };
              ASSERT_LE(std::abs(times(at, i, j) - alpha.value() * x.at(i, j)), 20 * tolerance<T>) << "trsm";
            }
        }
}

TYPED_TEST(Cublas, SumsAndScalingsOfMatrices) {
  using T = TypeParam;
  const int m = 3, n = 4;
  for (const auto mode : kModes) {
    this->handle.point(mode);
    const Argument<T> alpha(this->alpha_, mode), beta(this->beta_, mode);
    for (const auto ta : kOperations) {
      const Matrix<T> a = factor<T>(ta, m, n), b(m, n), c(m, n);
      OK(Blas<T>::geam(this->handle, ta, CUBLAS_OP_N, m, n, alpha.get(), a.data(), a.leading, beta.get(),
                       b.data(), b.leading, c.data(), c.leading));
      c.expect([&](int i, int j) { return alpha.value() * a.at(ta, i, j) + beta.value() * b.at(i, j); },
               "geam");
    }
  }
  for (const auto side : kSides) {
    const Matrix<T> a(m, n), c(m, n);
    const Vector<T> x(side == CUBLAS_SIDE_LEFT ? m : n, 2);
    OK(Blas<T>::dgmm(this->handle, side, m, n, a.data(), a.leading, x.data(), 2, c.data(), c.leading));
    c.expect([&](int i, int j) { return a.at(i, j) * x.at(side == CUBLAS_SIDE_LEFT ? i : j); }, "dgmm");
  }
}

TYPED_TEST(Cublas, LuFactorizationsSolveAndInvert) {
  using T = TypeParam;
  const int n = 5, batches = 2;
  const Matrix<T> original(n, n * batches, 0), b(n, 2, 0), inverse(n, n * batches, 0);
  Device<T> work(original.values);
  std::vector<T*> as, bs, inverses;
  for (int i = 0; i < batches; ++i) {
    as.push_back(work.get() + i * n * n);
    bs.push_back(b.data() + i * n);
    inverses.push_back(inverse.data() + i * n * n);
  }
  const Device<T*> aa(as), bb(bs), ii(inverses);
  const Device<int> pivots(std::size_t(n * batches)), info(std::size_t{batches});
  OK(Blas<T>::getrf(this->handle, n, aa.get(), n, pivots.get(), info.get(), batches));
  int host_info = -1;
  OK(Blas<T>::getrs(this->handle, CUBLAS_OP_N, n, 1, aa.get(), n, pivots.get(), bb.get(), n, &host_info,
                    batches));
  OK(Blas<T>::getri(this->handle, n, aa.get(), n, pivots.get(), ii.get(), n, info.get(), batches));
  EXPECT_EQ(host_info, 0);
  EXPECT_EQ(info.values(), std::vector<int>(batches, 0));
  const std::vector<T> x = b.device.values(), inverted = inverse.device.values();
  for (int batch = 0; batch < batches; ++batch)
    for (int i = 0; i < n; ++i) {
      const auto row = [&](auto at) {
        return sum(n, [&](int l) { return original.at(i, batch * n + l) * at(l); });
      };
      EXPECT_LE(std::abs(row([&](int l) { return widen(x[std::size_t(l + batch * n)]); }) - b.at(i, batch)),
                1000 * tolerance<T>);
      for (int j = 0; j < n; ++j)
        EXPECT_LE(std::abs(row([&](int l) { return widen(inverted[std::size_t(l + (batch * n + j) * n)]); }) -
                           Wide(i == j)),
                  1000 * tolerance<T>);
    }
}

}  // namespace
