// Names as the demangler writes them.
#include "collector/symbols/function_names.h"

#include <gtest/gtest.h>

namespace ddpscope::symbols {
namespace {

TEST(FunctionNames, HaveNoArguments) {
  EXPECT_EQ(without_arguments("train::step(int, float const*)"), "train::step");
  EXPECT_EQ(without_arguments("train::Loop::next() const"), "train::Loop::next");
  EXPECT_EQ(without_arguments("(anonymous namespace)::helper(char)"), "(anonymous namespace)::helper");
  EXPECT_EQ(without_arguments("main"), "main");
}

TEST(FunctionNames, HaveNoReturnType) {
  EXPECT_EQ(without_arguments("void at::native::add<float, 4>(float*, int)"), "at::native::add<float, 4>");
  EXPECT_EQ(without_arguments("std::map<int, long> make<int>(int)"), "make<int>");
  EXPECT_EQ(without_arguments("decltype(auto) visit<void (*)(int)>(void (*)(int))"), "visit<void (*)(int)>");
}

TEST(FunctionNames, OfLambdas) {
  EXPECT_EQ(without_arguments("main::{lambda(int)#1}::operator()(int) const"), "main::{lambda(int)#1}");
  EXPECT_EQ(without_arguments(
                "main::{lambda(int)#1}::operator()(int) const::{lambda(long)#2}::operator()(long) const"),
            "main::{lambda(int)#1}::{lambda(long)#2}");
  EXPECT_EQ(without_arguments("auto main::{lambda(auto:1&&)#3}::operator()<int&>(int&) const"),
            "main::{lambda(auto:1&&)#3}::operator()<int&>");
  EXPECT_EQ(without_arguments("train(int)::$_0::operator()(int) const"), "train::$_0");
  EXPECT_EQ(without_arguments("std::_Function_handler<void (int), main::{lambda(int)#1}>::_M_invoke(int)"),
            "std::_Function_handler<void (int), main::{lambda(int)#1}>::_M_invoke");
}

TEST(FunctionNames, OfOperators) {
  EXPECT_EQ(without_arguments("Functor::operator()(int)"), "Functor::operator()");
  EXPECT_EQ(without_arguments("std::ostream& operator<< <char>(std::ostream&, char)"), "operator<<<char>");
  EXPECT_EQ(without_arguments("Iterator::operator->() const"), "Iterator::operator->");
  EXPECT_EQ(without_arguments("operator new(unsigned long)"), "operator new");
  EXPECT_EQ(without_arguments("Table::operator[](int)"), "Table::operator[]");
  EXPECT_EQ(without_arguments("Flag::operator bool() const"), "Flag::operator bool");
  EXPECT_EQ(without_arguments("cooperator(int)"), "cooperator");
}

TEST(FunctionNames, WhatIsNoneStaysAsItIs) {
  EXPECT_EQ(demangled("ncclAllReduce"), "ncclAllReduce");
  EXPECT_EQ(demangled(nullptr), "??");
  EXPECT_EQ(without_arguments("<lambda"), "<lambda");
  EXPECT_EQ(without_arguments("(int)"), "(int)");
}

TEST(FunctionNames, OfWhatIsTooLongTheInnermostGivesWayFirst) {
  const std::string name = "add<std::vector<std::pair<int, long>>, 4>::run<float>";
  EXPECT_EQ(shortened(name), name);
  EXPECT_EQ(shortened(name, name.size()), name);
  EXPECT_EQ(shortened(name, name.size() - 1), "add<std::vector<std::pair<…>>, 4>::run<float>");
  EXPECT_EQ(shortened(name, 40), "add<std::vector<…>, 4>::run<float>");
  EXPECT_EQ(shortened(name, 30), "add<…>::run<…>");
  EXPECT_EQ(shortened(name, 6), "add<…");
  EXPECT_EQ(shortened("cooperator<std::pair<int, long>>", 26), "cooperator<std::pair<…>>");
  EXPECT_EQ(shortened("operator<(std::pair<int, long>)", 30), "operator<(std::pair<…>)");
  EXPECT_EQ(shortened("Iterator<std::pair<int, long>>::operator->", 41),
            "Iterator<std::pair<…>>::operator->");
  std::string deep;
  for (int i = 0; i < 10'000; ++i) deep += "Nested<";
  EXPECT_LE(shortened(deep + "int" + std::string(10'000, '>')).size(), 160);
}

TEST(FunctionNames, OfFramesTheFunctionAloneIsShortened) {
  const std::string path = "/" + std::string(200, 'd') + "/train.py:88 ";
  EXPECT_EQ(shortened_frame(path + "main"), path + "main");
  EXPECT_EQ(shortened_frame(path + "f<" + std::string(200, 'x') + ">"), path + "f<…>");
  EXPECT_EQ(shortened_frame("train f<" + std::string(200, 'x') + ">+0x8"), "train f<…>+0x8");
}

}  // namespace
}  // namespace ddpscope::symbols
