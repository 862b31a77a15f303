// What of a stack makes an id.
#include <gtest/gtest.h>

#include "collector/findings/finding.h"

namespace ddpscope::findings {
namespace {

using Stack = std::vector<std::string>;

TEST(Frames, AreTakenApart) {
  FrameParts parts = parts_of("/a b:1c/train.py:88 Trainer.fit");
  EXPECT_EQ(parts.file, "/a b:1c/train.py");
  EXPECT_EQ(parts.line, "88");
  EXPECT_EQ(parts.function, "Trainer.fit");
  EXPECT_EQ(parts_of("libnccl.so.2 ncclAllReduce+0x1f").file, "libnccl.so.2 ncclAllReduce+0x1f");
  EXPECT_EQ(parts_of("train.py:88").line, "88");
}

TEST(KeyOfStack, IsTheSameInAnotherFolderAndOfAnotherBuild) {
  Stack here = {"save.py:3 write", "/usr/lib/python3/dist-packages/torch/nn.py:9 forward",
                "/home/a/train.py:8 main", "/usr/lib/python3.11/runpy.py:2 run"};
  Stack there = {"/x y/save.py:3 write", "/venv/lib/python3.12/site-packages/torch/nn.py:70 forward",
                 "/b/train.py:8 main", "<frozen runpy>:198 _run_module_as_main"};
  EXPECT_EQ(key_of_stack(here), key_of_stack(there));
  EXPECT_EQ(key_of_stack(here), "save.py:3 write\nnn.py forward\ntrain.py:8 main\n");
  Stack with_types = {"learner.cpp:31 Learner::train::{lambda}",
                      "invoke.h:61 __invoke_impl<void, Learner::train()::<lambda()>&>",
                      "std_function.h:290 _M_invoke",
                      "std_function.h:591 std::function<void ()>::operator()",
                      "model.cpp:109 Model::backward",
                      "libc_start_call_main.h:58 __libc_start_call_main"};
  Stack without = {"learner.cpp:31 operator()",        "invoke.h:60 __invoke_impl",
                   "model.cpp:109 Model::backward",    "libc.so.6 __libc_init_first+0x8a",
                   "libc.so.6 __libc_start_main+0x85", "train _start+0x21"};
  EXPECT_EQ(key_of_stack(with_types), key_of_stack(without));
}

TEST(KeyOfStack, IsAnotherAtAnotherLineOfTheProgramOrInAnotherFunctionOfAPackage) {
  auto key = [](const char* package, const char* own) { return key_of_stack({package, own}); };
  const char *save = "/a/site-packages/trainer.py:5 save", *load = "/a/site-packages/trainer.py:9 load";
  EXPECT_NE(key(save, "train.py:8 main"), key(save, "train.py:9 main"));
  EXPECT_NE(key(save, "train.py:8 main"), key(load, "train.py:8 main"));
  EXPECT_EQ(key("libgloo.so barrier+0x1f", "train.py:8 main"),
            key("libgloo.so barrier+0x40", "train.py:8 main"));
}

// Nothing else tells its bugs apart.
TEST(KeyOfStack, OfAProgramThatIsAPackageHasItsLines) {
  EXPECT_EQ(key_of_stack({"/a/site-packages/train.py:5 step", "<frozen runpy>:88 _run_code"}),
            "train.py:5 step\n");
  EXPECT_EQ(key_of_stack({"libtrain.so step+0x1f"}), "libtrain.so step+0x1f\n");
  EXPECT_EQ(key_of_stack({"libc.so.6 read+0x1f"}), "libc.so.6 read+0x1f\n");
  EXPECT_EQ(key_of_stack({}), "");
}

// Where a thread begins, in a libc with debug information.
TEST(LibraryFrames, AreThoseOfAThreadsStart) {
  EXPECT_TRUE(is_library_frame("clone3.S:81 __clone3"));
  EXPECT_TRUE(is_library_frame("pthread_create.c:442 start_thread"));
}

TEST(LibraryFrames, AreThoseOfAnInterpreterWithDebugInformation) {
  for (const char* frame :
       {"/src/Python/pylifecycle.c:2944 Py_Exit", "pythonrun.c:789 handle_system_exit",
        "call.c:92 _PyObject_Call", "Modules/main.c:560 pymain_run_python", "python.c:15 main"})
    EXPECT_TRUE(is_library_frame(frame)) << frame;
  for (const char* frame :
       {"pyramid.c:9 Pyramid_build", "main.c:3 main", "train.py:7 Py_thing", "py.c:8 parse"})
    EXPECT_FALSE(is_library_frame(frame)) << frame;
}

TEST(KeyOfStack, KeepsPythonsOwnSpecialFunctions) {
  EXPECT_EQ(key_of_stack({"/a/data.py:5 __getitem__", "/a/site-packages/torch/data.py:7 __next__"}),
            "data.py:5 __getitem__\ndata.py __next__\n");
}

TEST(WithoutLines, LeavesFunctionsAndWhatOnlyLooksLikeALine) {
  EXPECT_EQ(without_lines("a.py:3 write against train.py:88 main"), "a.py write against train.py main");
  EXPECT_EQ(without_lines("save.cpp:31\nmodel.cpp:109\n"), "save.cpp\nmodel.cpp\n");
  EXPECT_EQ(without_lines("save.cpp:31"), "save.cpp");
  EXPECT_EQ(without_lines("libtrain.so step+0x1f"), "libtrain.so step+0x1f");
  EXPECT_EQ(without_lines("a::b c: d:1e f:"), "a::b c: d:1e f:");
  EXPECT_EQ(without_lines(""), "");
}

}  // namespace
}  // namespace ddpscope::findings
