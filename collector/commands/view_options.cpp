#include "collector/commands/view_options.h"

namespace ddpscope::commands {

void declare_view_options(CLI::App& app, ViewOptions& options) {
  app.add_option("TRACE", options.trace, "folder that `ddpscope run` filled, or a merged file")
      ->type_name("")
      ->required();
  app.add_option("OTHER", options.other, "a second trace to compare with")->type_name("");
  app.add_option("--goto", options.go_to, "finding to start at: its id, slug or number (default: the worst)")
      ->type_name("FINDING");
  CLI::Option* picture =
      app.add_option("--screenshot", options.screenshot, "writes a picture and ends; needs no display")
          ->type_name("FILE");
  app.add_option("--size", options.size, "of the picture in pixels (default: 1920x1080)")
      ->type_name("WIDTHxHEIGHT");
  app.add_option("--theme", options.theme, "of its colours (default: dark)")
      ->type_name("THEME")
      ->check(CLI::IsMember({"dark", "light", "colorblind"}));
  app.add_option("--scale", options.scale, "of everything that is drawn, 0.5 to 4 (default: 1)")
      ->type_name("FACTOR")
      ->check(CLI::Range(0.5, 4.0).description(""));
  // A picture waits for the disk, which a measured frame must not.
  app.add_flag("--bench", options.bench, "prints how long opening and frames take, as JSON")
      ->excludes(picture);
  CLI::Option* whole_run =
      app.add_flag("--whole-run", options.whole_run, "starts with the whole run in view");
  app.add_option("--from", options.from, "starts with this in view, since the job's start (default: 0)")
      ->type_name("SECONDS")
      ->excludes(whole_run);
  app.add_option("--to", options.to, "up to then (default: the run's end)")
      ->type_name("SECONDS")
      ->excludes(whole_run);
  app.add_flag("--reduced-motion", options.reduced_motion, "jumps instead of flying");
}

std::vector<std::string> words_of(const CLI::App& app) {
  std::vector<std::string> words, positionals;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    if (option->get_positional())
      positionals.push_back(option->as<std::string>());
    else if (option->get_items_expected_max() == 0)
      words.push_back(option->get_name());
    else
      words.push_back(option->get_name() + "=" + option->as<std::string>());
  }
  words.push_back("--");  // a file's name may begin with a hyphen
  words.insert(words.end(), positionals.begin(), positionals.end());
  return words;
}

}  // namespace ddpscope::commands
