// torchlean env: every environment variable with its value, default and meaning.
#pragma once

namespace torchlean::tools {

struct EnvOptions {
  bool json = false;
};

int run_env(const EnvOptions &options);

}  // namespace torchlean::tools
