// The catalogue is whole: what it names exists, and nothing explains itself.
#include "collector/findings/catalogue.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <set>

#include "collector/detectors/detector.h"

namespace ddpscope::findings {
namespace {

TEST(Catalogue, ExplainedSlugsAreRows) {
  for (const CatalogueRow& row : catalogue())
    for (std::string_view slug : explained_by(row))
      EXPECT_NE(find_row(slug), nullptr) << row.slug << " explains " << slug;
}

TEST(Catalogue, TheArrowsFormNoCycle) {
  std::function<bool(std::string_view, std::set<std::string_view>)> reaches_itself =
      [&](std::string_view slug, std::set<std::string_view> path) {
        if (!path.insert(slug).second) return true;
        for (std::string_view next : explained_by(*find_row(slug)))
          if (reaches_itself(next, path)) return true;
        return false;
      };
  for (const CatalogueRow& row : catalogue()) EXPECT_FALSE(reaches_itself(row.slug, {})) << row.slug;
}

TEST(Catalogue, EveryDetectorHasARowAndAPage) {
  for (const detectors::Detector& detector : detectors::all_detectors()) {
    EXPECT_NE(find_row(detector.slug), nullptr) << detector.slug;
    EXPECT_FALSE(page_of(detector.slug).empty()) << detector.slug;
  }
}

TEST(Catalogue, EveryPageIsThatOfARow) {
  for (const auto& page : std::filesystem::directory_iterator(DOCS_FOLDER "/findings"))
    EXPECT_NE(find_row(page.path().stem().string()), nullptr) << page.path();
}

}  // namespace
}  // namespace ddpscope::findings
