// The record as JUnit XML.
#include "compare/record.hpp"

#include <fmt/format.h>

#include <string_view>

namespace torchlean::tools {
namespace {

// Text for attributes and elements; bytes that XML cannot hold are replaced.
std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      case '\n':
      case '\t': safe += c; break;
      default: safe += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
    }
  }
  return safe;
}

std::string test_case(const OperationRecord &record, const std::string &suite) {
  std::string text = fmt::format("    <testcase classname=\"{}\" name=\"{}[{}]\"", suite,
                                 escaped(record.operation), escaped(record.dtype));
  if (record.has_failed()) {
    std::string lines = "case: " + record.failure->case_name + "\n";
    for (const auto &[label, line] : failure_lines(record))
      lines += fmt::format("{}: {}\n", label, line);
    return text + fmt::format(">\n      <failure message=\"{}\">{}</failure>\n    </testcase>\n",
                              escaped(record.failure->reason), escaped(lines));
  }
  if (!record.skipped.empty()) {
    return text + fmt::format(">\n      <skipped message=\"{}\"/>\n    </testcase>\n",
                              escaped(record.skipped));
  }
  return text + "/>\n";
}

}  // namespace

std::string junit_text(const Report &report) {
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  text += fmt::format("<testsuites name=\"torchlean compare\" time=\"{:.3f}\">\n", report.seconds);
  for (const Participant &other : report.others) {
    std::uint64_t tests = 0;
    std::uint64_t failures = 0;
    std::uint64_t skipped = 0;
    std::string cases;
    const std::string suite = escaped(other.name);
    for (const OperationRecord &record : report.operations) {
      if (record.backend != other.name) continue;
      ++tests;
      failures += record.has_failed() ? 1 : 0;
      skipped += record.skipped.empty() ? 0 : 1;
      cases += test_case(record, suite);
    }
    text += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">\n"
        "    <properties>\n"
        "      <property name=\"seed\" value=\"{}\"/>\n"
        "      <property name=\"size\" value=\"{}\"/>\n"
        "      <property name=\"version\" value=\"{}\"/>\n"
        "      <property name=\"device\" value=\"{}\"/>\n"
        "    </properties>\n",
        suite, tests, failures, skipped, report.seed, escaped(report.size),
        escaped(other.info.version), escaped(other.info.device));
    text += cases + "  </testsuite>\n";
  }
  return text + "</testsuites>\n";
}

}  // namespace torchlean::tools
