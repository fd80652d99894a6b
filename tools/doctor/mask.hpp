// Taking out of a report what is nobody's business.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace torchlean::tools {

class Mask {
 public:
  // `homes`: folders whose path tells who somebody is.
  explicit Mask(std::vector<std::string> homes);
  // Those of this process's user.
  static Mask of_this_user();

  // Home folders become ~, names and passwords in addresses ***.
  std::string text(std::string_view given) const;
  // The value of an environment variable; *** where its name speaks of a secret.
  std::string value(std::string_view name, std::string_view given) const;
  // Every text in it.
  void apply(nlohmann::ordered_json &record) const;

 private:
  std::vector<std::string> homes_;
};

}  // namespace torchlean::tools
