// Home folders, passwords, secrets.
#include "doctor/mask.hpp"

#include <nlohmann/json.hpp>

#include <pwd.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

namespace torchlean::tools {
namespace {

constexpr const char *hidden = "***";

// Does a path end before text[at]?
bool ends_path_element(std::string_view text, std::size_t at) {
  return at >= text.size() || text[at] == '/' ||
         (std::isalnum(static_cast<unsigned char>(text[at])) == 0 && text[at] != '-' &&
          text[at] != '_' && text[at] != '.');
}

}  // namespace

Mask::Mask(std::vector<std::string> homes) : homes_(std::move(homes)) {
  for (std::string &home : homes_) {
    while (!home.empty() && home.back() == '/') home.pop_back();
  }
  std::erase(homes_, std::string());
  // The longest first: one may lie in another.
  std::sort(homes_.begin(), homes_.end(),
            [](const std::string &a, const std::string &b) { return a.size() > b.size(); });
}

Mask Mask::of_this_user() {
  std::vector<std::string> homes;
  if (const char *home = std::getenv("HOME")) homes.emplace_back(home);
  if (const passwd *user = getpwuid(getuid())) homes.emplace_back(user->pw_dir);
  return Mask(std::move(homes));
}

std::string Mask::text(std::string_view given) const {
  std::string masked(given);
  for (const std::string &home : homes_) {
    for (std::size_t at = masked.find(home); at != std::string::npos;
         at = masked.find(home, at + 1)) {
      if (ends_path_element(masked, at + home.size())) masked.replace(at, home.size(), "~");
    }
  }
  // scheme://user:password@host
  for (std::size_t at = masked.find("://"); at != std::string::npos;
       at = masked.find("://", at + 3)) {
    const std::size_t end = masked.find_first_of("/ \n\"'", at + 3);
    const std::size_t sign = masked.rfind('@', end);
    if (sign != std::string::npos && sign > at + 3) masked.replace(at + 3, sign - at - 3, hidden);
  }
  return masked;
}

std::string Mask::value(std::string_view name, std::string_view given) const {
  static constexpr std::array words = {"TOKEN",  "SECRET",     "PASSWORD",
                                       "PASSWD", "CREDENTIAL", "KEY"};
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const bool is_secret = std::any_of(words.begin(), words.end(), [&](const char *word) {
    return upper.find(word) != std::string::npos;
  });
  return is_secret ? hidden : text(given);
}

void Mask::apply(nlohmann::ordered_json &record) const {
  if (record.is_string()) {
    record = text(record.get_ref<const std::string &>());
  } else if (record.is_structured()) {
    for (nlohmann::ordered_json &part : record) apply(part);
  }
}

}  // namespace torchlean::tools
