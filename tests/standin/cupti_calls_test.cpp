// CUPTI's records of runtime calls, external correlation, callbacks, and the one subscriber.
#include <algorithm>
#include <functional>

#include "tests/standin/cuda_kernels.h"
#include "tests/standin/cupti_client.h"

namespace {

struct Calls : CuptiTest {
  void SetUp() override {
    CuptiTest::SetUp();
    OK(cudaMalloc(&memory, 256));
  }

  static std::vector<std::uint32_t> callback_ids() {
    std::vector<std::uint32_t> ids;
    for (const CUpti_ActivityAPI& call : trace().records<CUpti_ActivityAPI>()) ids.push_back(call.cbid);
    return ids;
  }

  void* memory = nullptr;
};

constexpr std::uint32_t kMemset = CUPTI_RUNTIME_TRACE_CBID_cudaMemset_v3020;
constexpr std::uint32_t kSynchronize = CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020;
constexpr std::uint32_t kGetDevice = CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020;

TEST_F(Calls, AreRecordedWithTheirResults) {
  enable({CUPTI_ACTIVITY_KIND_RUNTIME});
  CU(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM));
  OK(cudaMemset(memory, 0, 16));
  EXPECT_EQ(cudaSetDevice(1000), cudaErrorInvalidDevice);
  finish();
  const auto calls = trace().records<CUpti_ActivityAPI>();
  ASSERT_EQ(callback_ids(), (std::vector<std::uint32_t>{kMemset, CUPTI_RUNTIME_TRACE_CBID_cudaSetDevice_v3020,
                                                        kSynchronize}));
  EXPECT_EQ(calls[0].returnValue, 0U);
  EXPECT_EQ(calls[1].returnValue, static_cast<std::uint32_t>(cudaErrorInvalidDevice));
  EXPECT_EQ(calls[0].threadId, static_cast<std::uint32_t>(gettid()));
  EXPECT_LT(calls[0].correlationId, calls[1].correlationId);
  EXPECT_LE(calls[0].end, calls[1].start);
}

TEST_F(Calls, CanBeChosenOneByOne) {
  CU(cuptiActivityEnableRuntimeApi(kMemset, 1));
  int device = 0;
  OK(cudaGetDevice(&device));
  OK(cudaMemset(memory, 0, 16));
  finish();
  EXPECT_EQ(callback_ids(), std::vector<std::uint32_t>{kMemset});

  trace().clear();
  enable({CUPTI_ACTIVITY_KIND_RUNTIME});
  CU(cuptiActivityEnableRuntimeApi(kGetDevice, 0));
  OK(cudaGetDevice(&device));
  finish();
  EXPECT_EQ(callback_ids(), std::vector<std::uint32_t>{kSynchronize});
}

// The program made no call of the driver: those that the runtime makes are not the program's.
TEST_F(Calls, OfTheDriverAreOnlyThoseOfTheProgram) {
  enable({CUPTI_ACTIVITY_KIND_DRIVER});
  OK(cudaMemset(memory, 0, 16));
  launch_without_body(static_cast<int*>(memory), nullptr);
  finish();
  EXPECT_TRUE(trace().records<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_DRIVER).empty());
}

TEST_F(Calls, ComeAfterTheExternalIdsOfTheirThread) {
  enable({CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION});
  CU(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 11));
  CU(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 12));
  CU(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1, 13));
  OK(cudaMemset(memory, 0, 16));
  std::uint64_t popped = 0;
  CU(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &popped));
  EXPECT_EQ(popped, 12U);
  CU(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1, nullptr));
  OK(cudaMemset(memory, 0, 16));
  CU(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, nullptr));
  std::thread([&] { OK(cudaMemset(memory, 0, 16)); }).join();
  finish();

  const auto calls = trace().records<CUpti_ActivityAPI>();
  const auto ids = trace().records<CUpti_ActivityExternalCorrelation>();
  ASSERT_EQ(ids.size(), 3U);
  std::map<std::uint32_t, std::vector<std::uint64_t>> of_call;
  for (const auto& id : ids) of_call[id.correlationId].push_back(id.externalId);
  std::vector<std::vector<std::uint64_t>> of_fills;
  for (const auto& call : calls) {
    if (call.cbid == kMemset) of_fills.push_back(of_call[call.correlationId]);
  }
  std::ranges::sort(of_fills);
  EXPECT_EQ(of_fills, (std::vector<std::vector<std::uint64_t>>{{}, {11}, {12, 13}}));
  EXPECT_EQ(ids[0].externalKind, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0);
  EXPECT_EQ(ids[1].externalKind, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1);
}

TEST_F(Calls, ExternalIdsNeedAKindAndAnEntry) {
  std::uint64_t id = 0;
  EXPECT_EQ(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, &id),
            CUPTI_ERROR_QUEUE_EMPTY);
  EXPECT_EQ(cuptiGetLastError(), CUPTI_ERROR_QUEUE_EMPTY);
  EXPECT_EQ(cuptiGetLastError(), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_INVALID, 1),
            CUPTI_ERROR_INVALID_PARAMETER);
}

struct Seen {
  CUpti_ApiCallbackSite site;
  std::uint32_t id;
  std::string function, symbol;
  std::uint64_t data;
  std::uint32_t correlation;
  cudaError_t result;
};

struct Callbacks : Calls {
  void SetUp() override {
    Calls::SetUp();
    CU(cuptiSubscribe(&subscriber, call_back, this));
  }

  static void CUPTIAPI call_back(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                 const void* cbdata) {
    auto& test = *static_cast<Callbacks*>(user);
    EXPECT_EQ(domain, CUPTI_CB_DOMAIN_RUNTIME_API);
    const auto& data = *static_cast<const CUpti_CallbackData*>(cbdata);
    if (data.callbackSite == CUPTI_API_ENTER) *data.correlationData = 1000 + data.correlationId;
    test.seen.push_back({data.callbackSite, id, data.functionName, data.symbolName ? data.symbolName : "",
                         *data.correlationData, data.correlationId,
                         data.callbackSite == CUPTI_API_EXIT
                             ? *static_cast<const cudaError_t*>(data.functionReturnValue)
                             : cudaSuccess});
    if (test.look) test.look(data);
    if (test.finalize && data.callbackSite == CUPTI_API_EXIT) {
      EXPECT_EQ(cuptiFinalize(), CUPTI_SUCCESS);
    }
    int device = -1;
    EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);  // not called back for
  }

  CUpti_SubscriberHandle subscriber = nullptr;
  std::vector<Seen> seen;
  std::function<void(const CUpti_CallbackData&)> look;
  bool finalize = false;
};

TEST_F(Callbacks, ComeAtBeginAndEndOfEnabledFunctions) {
  CU(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, kMemset));
  std::uint32_t enabled = 0;
  CU(cuptiGetCallbackState(&enabled, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, kMemset));
  EXPECT_EQ(enabled, 1U);
  CU(cuptiGetCallbackState(&enabled, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, kGetDevice));
  EXPECT_EQ(enabled, 0U);
  look = [&](const CUpti_CallbackData& data) {
    const auto& parameters = *static_cast<const cudaMemset_v3020_params*>(data.functionParams);
    EXPECT_EQ(parameters.devPtr, memory);
    EXPECT_EQ(parameters.value, 5);
    EXPECT_EQ(parameters.count, 16U);
    std::uint32_t context = 0;
    CU(cuptiGetContextId(data.context, &context));
    EXPECT_EQ(context, data.contextUid);
  };
  OK(cudaMemset(memory, 5, 16));
  OK(cudaDeviceSynchronize());
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].site, CUPTI_API_ENTER);
  EXPECT_EQ(seen[1].site, CUPTI_API_EXIT);
  EXPECT_EQ(seen[0].id, kMemset);
  EXPECT_EQ(seen[0].function, "cudaMemset");
  EXPECT_EQ(seen[1].data, 1000 + seen[0].correlation);
  EXPECT_EQ(seen[1].correlation, seen[0].correlation);
}

TEST_F(Callbacks, OfLaunchesNameTheKernel) {
  CU(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API));
  enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  launch_without_body(static_cast<int*>(memory), nullptr);
  CU(cuptiEnableDomain(0, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API));
  finish();
  ASSERT_GE(seen.size(), 2U);
  EXPECT_EQ(seen.back().symbol, "without_body");
  EXPECT_EQ(seen.back().result, cudaSuccess);
  const auto kernels = trace().records<CUpti_ActivityKernel10>();
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].correlationId, seen.back().correlation);
}

TEST_F(Callbacks, AreForOneSubscriber) {
  CUpti_SubscriberHandle second = nullptr;
  EXPECT_EQ(cuptiSubscribe(&second, call_back, this), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  CU(cuptiUnsubscribe(subscriber));
  EXPECT_EQ(cuptiUnsubscribe(subscriber), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, kMemset),
            CUPTI_ERROR_INVALID_PARAMETER);

  CUpti_SubscriberParams parameters{};
  EXPECT_EQ(cuptiSubscribe_v2(&second, call_back, this, &parameters), CUPTI_ERROR_INVALID_PARAMETER);
  parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  parameters.subscriberName = "the first";
  CU(cuptiSubscribe_v2(&second, call_back, this, &parameters));
  char old[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = "";
  parameters.subscriberName = nullptr;
  parameters.oldSubscriberName = old;
  parameters.oldSubscriberSize = sizeof old;
  EXPECT_EQ(cuptiSubscribe_v2(&subscriber, call_back, this, &parameters),
            CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  EXPECT_STREQ(old, "CUPTI for the first");
  OK(cudaMemset(memory, 5, 16));
  EXPECT_TRUE(seen.empty());
}

TEST_F(Callbacks, RefuseWhatIsNoFunction) {
  EXPECT_EQ(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_SIZE),
            CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiEnableDomain(1, subscriber, static_cast<CUpti_CallbackDomain>(99)),
            CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiSubscribe(nullptr, call_back, this), CUPTI_ERROR_INVALID_PARAMETER);
  const char* name = nullptr;
  EXPECT_EQ(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, 100'000, &name), CUPTI_ERROR_INVALID_PARAMETER);
  CU(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, kMemset, &name));
  EXPECT_STREQ(name, "cudaMemset_v3020");
}

// As NVIDIA's header wants it: from the callback at the end of a call. The next session starts from nothing.
TEST_F(Callbacks, CanEndCupti) {
  enable({CUPTI_ACTIVITY_KIND_MEMSET});
  CU(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, kMemset));
  finalize = true;
  OK(cudaMemset(memory, 5, 16));
  finalize = false;
  ASSERT_EQ(seen.size(), 2U);
  OK(cudaMemset(memory, 5, 16));
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(seen.size(), 2U);
  EXPECT_EQ(cuptiActivityFlushAll(0), CUPTI_ERROR_INVALID_OPERATION);

  CU(cuptiSubscribe(&subscriber, call_back, this));
  CU(cuptiActivityRegisterCallbacks(Trace::requested, Trace::completed));
  enable({CUPTI_ACTIVITY_KIND_MEMSET});
  OK(cudaMemset(memory, 5, 16));
  finish();
  EXPECT_EQ(trace().kinds(), std::vector{CUPTI_ACTIVITY_KIND_MEMSET});
  EXPECT_EQ(seen.size(), 2U);
}

}  // namespace
