// What of command lines and variables is kept out of traces.
#include "injector/core/secrets.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ddpscope::injector {
namespace {

std::string masked(const std::string& value) {
  char out[256];
  return {out, mask_value(value.data(), value.size(), out, sizeof(out))};
}

std::vector<std::string> masked(const std::vector<std::string>& words) {
  ArgumentMask mask;
  std::vector<std::string> told;
  for (const std::string& word : words) {
    char out[256];
    told.emplace_back(out, mask.mask(word.data(), word.size(), out, sizeof(out)));
  }
  return told;
}

TEST(Secrets, AreNamedByAWordOrAKindOfKey) {
  for (std::string name :
       {"HF_TOKEN", "SLURM_JWT", "db-password", "--password", "AWS_SECRET_ACCESS_KEY", "api_key",
        "--wandb.api-key", "NCCL_PLUGIN_SECRET", "DEEPSPEED_CREDENTIALS", "PGPASSWORD", "ACCESS_KEY_ID"})
    EXPECT_TRUE(is_secret_name(name.data(), name.size())) << name;
  for (std::string name :
       {"--tokenizer", "max_tokens", "--sort-key", "NCCL_DEBUG", "key", "author", "--passes", "PWD", ""})
    EXPECT_FALSE(is_secret_name(name.data(), name.size())) << name;
}

TEST(Secrets, OfACommandLineAreMaskedWithTheirNamesLeft) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(masked(Words{"train.py", "--password", "hunter2", "--steps", "20"}),
            (Words{"train.py", "--password", "***", "--steps", "20"}));
  EXPECT_EQ(masked(Words{"env", "WANDB_API_KEY=0123456789", "--token=abc", "--lr=0.1", "trainer.lr=1e-3"}),
            (Words{"env", "WANDB_API_KEY=***", "--token=***", "--lr=0.1", "trainer.lr=1e-3"}));
  EXPECT_EQ(masked(Words{"--use-auth-token", "--verbose", "data"}),
            (Words{"--use-auth-token", "--verbose", "data"}))
      << "an option without a value";
  EXPECT_EQ(masked(Words{"--tokenizer", "gpt2", "--hub", "hf_abcdefghijklmnopqrst"}),
            (Words{"--tokenizer", "gpt2", "--hub", "***"}));
}

TEST(Secrets, OfAValueAreTokensAndPasswordsInAddresses) {
  EXPECT_EQ(masked(std::string("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.x")), "***");
  EXPECT_EQ(masked(std::string("http://me:pa@ss@proxy:3128/path")), "http://me:***@proxy:3128/path");
  EXPECT_EQ(masked(std::string("--proxy=http://me:secret@proxy:3128")), "--proxy=http://me:***@proxy:3128");
  for (std::string value : {"tcp://node1:29500", "http://me@host/a:b", "sk-1", "eyJ", "node1,node2", ""})
    EXPECT_EQ(masked(value), value);
}

TEST(Secrets, WhatDoesNotFitIsLeftOut) {
  char out[4];
  EXPECT_EQ(std::string(out, mask_value("abcdef", 6, out, sizeof(out))), "abcd");
  ArgumentMask mask;
  EXPECT_EQ(std::string(out, mask.mask("--token=x", 9, out, sizeof(out))), "--to");
}

}  // namespace
}  // namespace ddpscope::injector
