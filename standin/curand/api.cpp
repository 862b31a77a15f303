// cuRAND's host interface.
#include <cuda_runtime_api.h>
#include <curand.h>

#include <cstdio>

#include "standin/curand/engine.h"
#include "standin/library/launch.h"

using namespace ddpscope::standin;
using namespace ddpscope::standin::rand;

// Work that is queued keeps its engine: a new seed takes another one.
struct curandGenerator_st {
  int type;
  bool on_host;
  cudaStream_t stream = nullptr;
  unsigned long long seed = 0;
  unsigned long long offset = 0;
  std::shared_ptr<Engine> engine = {};

  curandStatus_t restart() {
    engine = make_engine(type, seed, offset);
    return CURAND_STATUS_SUCCESS;
  }
};

namespace {

bool is_provided(curandRngType_t type) {
  return type == CURAND_RNG_PSEUDO_DEFAULT || type == CURAND_RNG_PSEUDO_XORWOW ||
         type == CURAND_RNG_PSEUDO_MRG32K3A || type == CURAND_RNG_PSEUDO_PHILOX4_32_10;
}

bool exists(curandRngType_t type) {
  return (type >= CURAND_RNG_PSEUDO_DEFAULT && type <= CURAND_RNG_PSEUDO_PHILOX4_32_10) ||
         (type >= CURAND_RNG_QUASI_DEFAULT && type <= CURAND_RNG_QUASI_SCRAMBLED_SOBOL64);
}

curandStatus_t create(curandGenerator_t* generator, curandRngType_t type, bool on_host) {
  if (!generator || !exists(type)) return CURAND_STATUS_TYPE_ERROR;
  if (!is_provided(type)) {
    std::fprintf(
        stderr,
        "standin libcurand: generator type %d is not provided (XORWOW, MRG32K3A and PHILOX4_32_10 are)\n",
        static_cast<int>(type));
    return CURAND_STATUS_ARCH_MISMATCH;
  }
  int device = 0;
  if (!on_host && cudaGetDevice(&device) != cudaSuccess) return CURAND_STATUS_INITIALIZATION_FAILED;
  *generator = new curandGenerator_st{.type = type, .on_host = on_host};
  return (*generator)->restart();
}

curandStatus_t generate(curandGenerator_t generator, const char* kernel, const Request& request) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  if (!request.output && request.count > 0) return CURAND_STATUS_OUT_OF_RANGE;
  if (generator->on_host) {
    generator->engine->generate(request);
    return CURAND_STATUS_SUCCESS;
  }
  if (request.count == 0) return CURAND_STATUS_SUCCESS;
  const cudaError_t error = library::launch(
      kernel, generator->stream, [engine = generator->engine, request] { engine->generate(request); });
  return error == cudaSuccess ? CURAND_STATUS_SUCCESS : CURAND_STATUS_LAUNCH_FAILURE;
}

// Normally distributed elements come in pairs.
curandStatus_t generate_pairs(curandGenerator_t generator, const char* kernel, const Request& request) {
  if (generator && request.count % 2 != 0) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
  return generate(generator, kernel, request);
}

}  // namespace

extern "C" {

curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t type) {
  return create(generator, type, false);
}
curandStatus_t curandCreateGeneratorHost(curandGenerator_t* generator, curandRngType_t type) {
  return create(generator, type, true);
}
curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  delete generator;
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  generator->stream = stream;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  generator->seed = seed;
  return generator->restart();
}
curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  generator->offset = offset;
  return generator->restart();
}

// The order of "best" and "dynamic" may differ between GPUs; here all are the one that does not.
curandStatus_t curandSetGeneratorOrdering(curandGenerator_t generator, curandOrdering_t order) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  if (order < CURAND_ORDERING_PSEUDO_BEST || order > CURAND_ORDERING_PSEUDO_DYNAMIC)
    return CURAND_STATUS_OUT_OF_RANGE;
  if (order == CURAND_ORDERING_PSEUDO_SEEDED) {
    std::fprintf(stderr, "standin libcurand: CURAND_ORDERING_PSEUDO_SEEDED is not provided\n");
    return CURAND_STATUS_OUT_OF_RANGE;
  }
  return generator->restart();
}

curandStatus_t curandSetQuasiRandomGeneratorDimensions(curandGenerator_t generator, unsigned) {
  return generator ? CURAND_STATUS_TYPE_ERROR : CURAND_STATUS_NOT_INITIALIZED;  // there are none here
}

// Prepares the generators, which happens here when they are first used.
curandStatus_t curandGenerateSeeds(curandGenerator_t generator) {
  return generator ? CURAND_STATUS_SUCCESS : CURAND_STATUS_NOT_INITIALIZED;
}

curandStatus_t curandGenerate(curandGenerator_t generator, unsigned* output, size_t count) {
  return generate(generator, "curand_generate", {Kind::kBits, output, count});
}
curandStatus_t curandGenerateLongLong(curandGenerator_t generator, unsigned long long*, size_t) {
  return generator ? CURAND_STATUS_TYPE_ERROR : CURAND_STATUS_NOT_INITIALIZED;  // of 64-bit Sobol only
}
curandStatus_t curandGenerateUniform(curandGenerator_t generator, float* output, size_t count) {
  return generate(generator, "curand_uniform", {Kind::kUniform, output, count});
}
curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double* output, size_t count) {
  return generate(generator, "curand_uniform_double", {Kind::kUniformDouble, output, count});
}
curandStatus_t curandGenerateNormal(curandGenerator_t generator, float* output, size_t count, float mean,
                                    float deviation) {
  return generate_pairs(generator, "curand_normal", {Kind::kNormal, output, count, mean, deviation});
}
curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double* output, size_t count,
                                          double mean, double deviation) {
  return generate_pairs(generator, "curand_normal_double",
                        {Kind::kNormalDouble, output, count, mean, deviation});
}
curandStatus_t curandGenerateLogNormal(curandGenerator_t generator, float* output, size_t count, float mean,
                                       float deviation) {
  return generate_pairs(generator, "curand_log_normal", {Kind::kLogNormal, output, count, mean, deviation});
}
curandStatus_t curandGenerateLogNormalDouble(curandGenerator_t generator, double* output, size_t count,
                                             double mean, double deviation) {
  return generate_pairs(generator, "curand_log_normal_double",
                        {Kind::kLogNormalDouble, output, count, mean, deviation});
}

curandStatus_t curandGetVersion(int* version) {
  if (!version) return CURAND_STATUS_OUT_OF_RANGE;
  *version = CURAND_VERSION;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGetProperty(libraryPropertyType type, int* value) {
  if (!value || type < MAJOR_VERSION || type > PATCH_LEVEL) return CURAND_STATUS_OUT_OF_RANGE;
  constexpr int version[] = {CURAND_VER_MAJOR, CURAND_VER_MINOR, CURAND_VER_PATCH};
  *value = version[type];
  return CURAND_STATUS_SUCCESS;
}

}  // extern "C"
