#include "cli/command_line/help_text.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

namespace attune::cli {
namespace {

constexpr char kFooter[] =
    "JOB may be left out where there is one: the job that runs; to look, and when none runs, the newest run of the "
    "job\n"
    "that the runs which ended have trained. Several are an error that lists them.\n"
    "Where commands look: in all runs on this machine, for what only looks also in those that have ended; with\n"
    "--kubeconfig or --context, or when none runs, in the cluster of the kubeconfig.\n"
    "Exit codes: 0 done, 1 job failed or command failed, 2 bad input, 130 interrupted.\n";

// The library's help shows checks and exclusions beside each option; here a word for the value is enough.
class HelpText : public CLI::Formatter {
 public:
  HelpText() { column_width(28); }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    return "\n" + CLI::Formatter::make_usage(app, name);
  }
  // An option that is shown in no group still leaves the empty line after one.
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    for (size_t at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n")) text.erase(at, 1);
    return text;
  }
  // The library writes what a flag stands for without a value into its name: "--dashboard{0}".
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    std::string name = CLI::Formatter::make_option_name(option, is_positional);
    return name.substr(0, name.find('{'));
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (!option->get_positional() && option->get_name(false, true).find('{') != std::string::npos)
      return "[=" + option->get_type_name() + "]";
    return option->get_type_size() != 0 && !option->get_positional() ? " " + option->get_type_name() : "";
  }
};

}  // namespace

void SetHelpText(CLI::App& app) {
  app.formatter(std::make_shared<HelpText>());
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.footer(kFooter);
}

}  // namespace attune::cli
