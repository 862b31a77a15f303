// With and without glibc's index the same is found.
#include "injector/core/loaded_object.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <vector>

namespace ddpscope::injector {
namespace {

std::vector<std::uintptr_t> some_address_of_each() {
  std::vector<std::uintptr_t> addresses{getauxval(AT_SYSINFO_EHDR)};
  for (const link_map* map = _r_debug.r_map; map; map = map->l_next)
    addresses.push_back(reinterpret_cast<std::uintptr_t>(map->l_ld));
  return addresses;
}

void expect_both_find(std::uintptr_t address, const LoadedObject& object) {
  LoadedObject by_maps{}, by_index{};
  ASSERT_TRUE(find_loaded_object(address, &by_index)) << object.map->l_name;
  ASSERT_TRUE(find_loaded_object_by_maps(address, &by_maps)) << object.map->l_name;
  for (const LoadedObject& found : {by_index, by_maps}) {
    EXPECT_EQ(found.map, object.map);
    EXPECT_EQ(found.start, object.start) << object.map->l_name;
  }
}

TEST(LoadedObject, IsTheSameByIndexAndByMaps) {
  std::size_t objects = 0;
  for (int round = 0; round < 2; ++round)  // looked for, then known
    for (std::uintptr_t address : some_address_of_each()) {
      LoadedObject object{};
      ASSERT_TRUE(find_loaded_object(address, &object));
      for (std::uintptr_t at : {object.start, address, object.end - 1}) expect_both_find(at, object);
      ++objects;
    }
  EXPECT_GT(objects, 8u) << "the program, the vdso, libc, the dynamic linker, each twice";
}

TEST(LoadedObject, IsNoMemoryOfAnotherKind) {
  LoadedObject object{};
  int on_stack = 0;
  void* file = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (const void* address : {static_cast<const void*>(&on_stack), static_cast<const void*>(file),
                              reinterpret_cast<const void*>(std::uintptr_t{4096})}) {
    EXPECT_FALSE(find_loaded_object(reinterpret_cast<std::uintptr_t>(address), &object)) << address;
    EXPECT_FALSE(find_loaded_object_by_maps(reinterpret_cast<std::uintptr_t>(address), &object)) << address;
  }
  munmap(file, 4096);
}

TEST(LoadedObject, IsNotFoundAnyMoreOnceItIsClosed) {
  void* library = dlopen("libBrokenLocale.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) GTEST_SKIP() << dlerror();
  link_map* map = nullptr;
  ASSERT_EQ(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
  auto address = reinterpret_cast<std::uintptr_t>(map->l_ld);
  LoadedObject object{};
  ASSERT_TRUE(find_loaded_object_by_maps(address, &object));
  ASSERT_TRUE(find_loaded_object_by_maps(address, &object));
  dlclose(library);
  EXPECT_FALSE(find_loaded_object_by_maps(address, &object));
}

}  // namespace
}  // namespace ddpscope::injector
