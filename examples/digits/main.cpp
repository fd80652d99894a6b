// torchlean-digits: trains a small classifier of handwritten digits on whichever backend serves.
#include "dataset.hpp"
#include "network.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <torchlean/runtime.hpp>

#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace {

// Below this the example counts as failed: something computes wrongly.
constexpr double required_accuracy = 0.94;

struct Options {
  std::uint64_t epochs = 4;
  std::uint64_t seed = 1;
  std::uint64_t batch = 32;
  std::string dtype = "float32";
  std::string data;
  bool json = false;
  bool operations = false;
};

struct Result {
  torchlean::BackendInfo backend;
  double loss = 0;  // mean over the last epoch
  std::uint64_t correct = 0;
  std::uint64_t held_out = 0;
  std::uint64_t checksum = 0;
  double seconds = 0;

  double accuracy() const { return static_cast<double>(correct) / static_cast<double>(held_out); }
};

// One line on a terminal, rewritten; nothing in a pipe.
void show_progress(const std::string &text) {
  static const bool on_terminal = isatty(STDOUT_FILENO) != 0;
  if (!on_terminal) return;
  fmt::print("\r{:<72}\r{}", "", text);
  std::fflush(stdout);
}

digits::Batch upload_samples(const digits::Samples &samples, tl_dtype dtype) {
  return {samples.count, torchlean::upload(samples.images, dtype),
          torchlean::upload(samples.targets, dtype)};
}

digits::Batch slice_batch(const digits::Batch &all, std::uint64_t start, std::uint64_t count) {
  return {count, torchlean::slice(all.images, start * digits::pixels, count * digits::pixels),
          torchlean::slice(all.targets, start * digits::classes, count * digits::classes)};
}

Result train(const Options &options) {
  const tl_dtype dtype = options.dtype == "float32" ? TL_FLOAT32 : TL_FLOAT64;
  const digits::Dataset dataset = digits::read_dataset(
      options.data.empty() ? digits::default_file() : std::filesystem::path(options.data),
      options.seed);
  const auto started = std::chrono::steady_clock::now();

  Result result;
  const digits::Batch training = upload_samples(dataset.training, dtype);
  const digits::Batch held_out = upload_samples(dataset.held_out, dtype);
  digits::Network network(dtype, options.seed);
  result.backend = torchlean::backend_info();

  for (std::uint64_t epoch = 1; epoch <= options.epochs; ++epoch) {
    torchlean::Buffer loss = torchlean::zeros(1, dtype);
    for (std::uint64_t start = 0; start < training.count; start += options.batch) {
      const std::uint64_t count = std::min(options.batch, training.count - start);
      loss = torchlean::add(loss, network.train(slice_batch(training, start, count)));
    }
    result.loss = torchlean::download<double>(loss).at(0) / static_cast<double>(training.count);
    result.correct = network.count_correct(held_out);
    result.held_out = held_out.count;
    show_progress(fmt::format("epoch {} of {}   loss {:.4f}   held-out accuracy {:.2f} %", epoch,
                              options.epochs, result.loss, 100 * result.accuracy()));
  }
  result.checksum = network.checksum();
  result.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  show_progress("");
  return result;
}

void print_text(const Options &options, const Result &result) {
  fmt::print("backend  {}{}, {}\n", result.backend.name,
             result.backend.library.empty() ? "" : fmt::format(" ({})", result.backend.library),
             options.dtype);
  fmt::print("trained  {} epochs, batch {}, seed {}, {:.2f} s\n", options.epochs, options.batch,
             options.seed, result.seconds);
  fmt::print("loss     {:.4f}   held-out accuracy {:.2f} % ({} of {})\n", result.loss,
             100 * result.accuracy(), result.correct, result.held_out);
  fmt::print("checksum {:016x}\n", result.checksum);
}

void print_json(const Options &options, const Result &result) {
  const nlohmann::ordered_json record = {{"backend", result.backend.name},
                                         {"library", result.backend.library},
                                         {"device", result.backend.device},
                                         {"dtype", options.dtype},
                                         {"epochs", options.epochs},
                                         {"batch", options.batch},
                                         {"seed", options.seed},
                                         {"loss", result.loss},
                                         {"accuracy", result.accuracy()},
                                         {"correct", result.correct},
                                         {"held_out", result.held_out},
                                         {"checksum", fmt::format("{:016x}", result.checksum)},
                                         {"seconds", result.seconds}};
  fmt::print("{}\n", record.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

int run(const Options &options) {
  if (options.operations) {
    for (const char *name : digits::operations) fmt::print("{}\n", name);
    return 0;
  }
  const Result result = train(options);
  options.json ? print_json(options, result) : print_text(options, result);
  if (result.accuracy() >= required_accuracy) return 0;
  fmt::print(stderr, "error: held-out accuracy {:.2f} %, expected at least {:.0f} %\n",
             100 * result.accuracy(), 100 * required_accuracy);
  return 1;
}

}  // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app(
      "Learns handwritten digits on the backend that TORCHLEAN_BACKEND names (unset: the best "
      "one found) and prints loss, held-out accuracy and a checksum of the parameters. The "
      "same backend gives the same checksum. Exit code 1 below 94 % accuracy.",
      "torchlean-digits");
  app.add_option("--epochs", options.epochs, "Passes over the training samples")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  app.add_option("--seed", options.seed, "Seed of the weights and of the samples' order")
      ->capture_default_str();
  app.add_option("--batch", options.batch, "Samples per step")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  app.add_option("--dtype", options.dtype, "Scalar kind")
      ->capture_default_str()
      ->check(CLI::IsMember({"float32", "float64"}));
  app.add_option("--data", options.data,
                 "Samples (default: ../share/torchlean/digits.txt beside the program's folder)")
      ->type_name("FILE");
  app.add_flag("--json", options.json, "Print the result as JSON");
  app.add_flag("--operations", options.operations,
               "Print the names of the operations this program calls and exit");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return torchlean::run_main([&options] { return run(options); });
}
