// torchlean: asks the runtime what it found and judges backends. One folder per subcommand.
#include "common/command.hpp"

#include <torchlean/runtime.hpp>

#include <array>

int main(int argc, char **argv) {
  using namespace torchlean::tools;
  CLI::App app("Shows what the torchlean runtime found on this machine and compares backends.",
               "torchlean");
  app.set_version_flag("--version", std::string("torchlean ") + tl_version());
  app.require_subcommand(1);
  app.footer("TORCHLEAN_BACKEND chooses the backend; `torchlean env` lists all variables.");
  const std::array commands = {add_status_command(app), add_ops_command(app), add_env_command(app),
                               add_compare_command(app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? exit_success : exit_usage;
  }
  return torchlean::run_main([&commands] {
    for (const Command &command : commands) {
      if (command.app->parsed()) return command.run();
    }
    return int{exit_usage};
  });
}
