// nvtx_guest: names ranges and marks in every way that NVTX has, as told: nvtx_guest WHAT.
#include <nvtx3/nvToolsExt.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

namespace {

nvtxEventAttributes_t event() {
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.category = 7;
  event.colorType = NVTX_COLOR_ARGB;
  event.color = 0xFF102030;
  return event;
}
nvtxEventAttributes_t named(const char* name) {
  nvtxEventAttributes_t named = event();
  named.messageType = NVTX_MESSAGE_TYPE_ASCII;
  named.message.ascii = name;
  return named;
}
nvtxEventAttributes_t named(const wchar_t* name) {
  nvtxEventAttributes_t named = event();
  named.messageType = NVTX_MESSAGE_TYPE_UNICODE;
  named.message.unicode = name;
  return named;
}
nvtxEventAttributes_t named(nvtxStringHandle_t name) {
  nvtxEventAttributes_t named = event();
  named.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  named.message.registered = name;
  return named;
}

// Of a text that is gone when the range is pushed.
nvtxStringHandle_t register_and_forget(nvtxDomainHandle_t domain, const char* text) {
  auto copy = std::make_unique<char[]>(std::strlen(text) + 1);
  std::strcpy(copy.get(), text);
  nvtxStringHandle_t handle = nvtxDomainRegisterStringA(domain, copy.get());
  std::memset(copy.get(), 'x', std::strlen(text));
  return handle;
}

void push_in_every_way() {
  nvtxRangePushA("plain");
  nvtxRangePushW(L"wide \u00e4\u20ac");
  auto attributes = named("attributes");
  nvtxRangePushEx(&attributes);
  nvtxRangePop();
  nvtxRangePop();
  nvtxRangePop();
  nvtxMarkA("mark");
  nvtxMarkW(L"wide mark");
  auto mark = named(L"mark attributes");
  nvtxMarkEx(&mark);
  auto wild = named(reinterpret_cast<nvtxStringHandle_t>(std::uintptr_t{0x1234567}));
  nvtxMarkEx(&wild);  // never given out
  nvtxRangePushA("");
  nvtxRangePop();
  nvtxRangePushA(std::string(1000, 'l').c_str());
  nvtxRangePop();
}

void push_in_domains() {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("loader");
  auto name = named(register_and_forget(domain, "registered"));
  nvtxDomainRangePushEx(domain, &name);
  nvtxDomainRangePop(domain);
  auto mark = named("in a domain");
  nvtxDomainMarkEx(domain, &mark);
  nvtxDomainHandle_t nccl = nvtxDomainCreateA("NCCL");
  auto call = named("ncclAllReduce");
  nvtxDomainRangePushEx(nccl, &call);
  nvtxDomainRangePop(nccl);
  if (fork() == 0) {
    nvtxDomainRangePushEx(domain, &name);
    nvtxDomainRangePop(domain);
    _exit(0);
  }
  wait(nullptr);
}

void end_elsewhere() {
  nvtxRangeId_t first = nvtxRangeStartA("first"), second = nvtxRangeStartW(L"second");
  auto attributes = named("third");
  nvtxDomainHandle_t domain = nvtxDomainCreateW(L"other");
  nvtxRangeId_t third = nvtxDomainRangeStartEx(domain, &attributes);
  std::thread([=] {
    nvtxRangeEnd(first);
    nvtxDomainRangeEnd(domain, third);
    nvtxRangeEnd(second);
  }).join();
}

void number_steps() {
  for (int step = 0; step < 20'000; ++step) {
    nvtxRangePushA(("step " + std::to_string(step)).c_str());
    nvtxRangePop();
  }
  nvtxRangePushA("step 17");
  nvtxRangePop();
}

}  // namespace

int main(int, char** arguments) {
  if (std::FILE* file = std::fopen("written", "w")) std::fclose(file);  // something to record
  std::string what = arguments[1];
  if (what == "push") push_in_every_way();
  if (what == "domains") push_in_domains();
  if (what == "elsewhere") end_elsewhere();
  if (what == "steps") number_steps();
  std::printf("done\n");
}
