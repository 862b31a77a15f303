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

}  // namespace
}  // namespace ddpscope::symbols
