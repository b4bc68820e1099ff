#include "tools/forebay/reinit_pairs.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "forebay/pool/error.hpp"
#include "tools/forebay/json_writer.hpp"

namespace forebay::tools {
namespace {

std::unique_ptr<JsonDocument> run_mode(std::vector<std::string> words, const char* mode) {
  words.insert(words.end(), {"--mode", mode, "--json", "-"});
  return std::make_unique<JsonDocument>(run_child(words), std::string("the child run ") + mode);
}

double climb_of(const JsonDocument& run) {
  if (const auto percent = run.number("/climb_percent")) return *percent;
  throw Error("a child run has no climb_percent; ask for at least 12 iterations");
}

void write_run(JsonWriter& out, const char* name, const JsonDocument& run) {
  out.key(name).begin_object();
  for (const char* key :
       {"climb_percent", "step_us", "train_step_us", "holds", "counters_first", "counters_last"}) {
    out.key(key).raw(run.json(std::string("/") + key));
  }
  out.end_object();
}

}  // namespace

PairsVerdict judge_pairs(const std::vector<double>& differences) {
  PairsVerdict verdict;
  verdict.median_difference = median(differences);
  verdict.interval = median_interval(differences);
  const auto [low, high, confidence] = verdict.interval;
  verdict.flat_enough = (low <= 0 && high >= 0) || (low >= -3 && high <= 3);
  return verdict;
}

std::string run_child(const std::vector<std::string>& words) {
  std::vector<char*> arguments{const_cast<char*>("forebay")};
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);

  std::array<int, 2> ends{};
  const auto failed = [](const char* what) {
    throw Error(std::string("a child process cannot ") + what + ": " + std::strerror(errno));
  };
  if (::pipe(ends.data()) != 0) failed("get a pipe");
  const pid_t child = ::fork();
  if (child < 0) failed("be started");
  if (child == 0) {
    // Only calls that are safe between fork and exec.
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    ::execv("/proc/self/exe", arguments.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  std::string text;
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t got = ::read(ends[0], buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    throw Error("a child run was ended by signal " + std::to_string(WTERMSIG(status)));
  }
  if (WEXITSTATUS(status) > 1 || text.empty()) {
    throw Error("a child run ended with code " + std::to_string(WEXITSTATUS(status)) +
                " and no result; its own line above says why");
  }
  return text;
}

ReinitPair run_pair(const std::vector<std::string>& words, bool climb_first) {
  ReinitPair pair;
  if (climb_first) pair.climb = run_mode(words, "climb");
  pair.flat = run_mode(words, "flat");
  if (!climb_first) pair.climb = run_mode(words, "climb");
  pair.difference = climb_of(*pair.climb) - climb_of(*pair.flat);
  return pair;
}

std::vector<std::string> pair_faults(const ReinitPair& pair) {
  std::vector<std::string> faults;
  for (const JsonDocument* run : {pair.flat.get(), pair.climb.get()}) {
    if (run->flag("/holds") != true) {
      faults.push_back(run->text("/mode").value_or("?") + " run: " + run->json("/broken"));
    }
  }
  if (pair.flat->json("/loss") != pair.climb->json("/loss")) {
    faults.emplace_back("the losses of A differ between flat and climb");
  }
  return faults;
}

std::string pairs_json(const std::vector<ReinitPair>& pairs, const PairsVerdict& verdict,
                       const std::vector<std::string>& faults) {
  const JsonDocument& run = *pairs.front().flat;
  JsonWriter out;
  out.begin_object().field("bench", "reinit").field("mode", "pairs");
  for (const char* key : {"device", "device_name", "iters", "networks", "inner_steps", "jitter",
                          "drop_order", "enqueue_only"}) {
    out.key(key).raw(run.json(std::string("/") + key));
  }
  out.key("pairs").begin_array();
  for (const ReinitPair& pair : pairs) {
    out.begin_object();
    write_run(out, "flat", *pair.flat);
    write_run(out, "climb", *pair.climb);
    out.field("difference_percent", pair.difference).end_object();
  }
  out.end_array()
      .field("median_difference_percent", verdict.median_difference)
      .key("interval")
      .begin_object()
      .field("low", verdict.interval.low)
      .field("high", verdict.interval.high)
      .field("confidence", verdict.interval.confidence)
      .end_object()
      .field("flat_enough", verdict.flat_enough)
      .field("holds", faults.empty())
      .field("broken", faults);
  return out.end_object().text();
}

}  // namespace forebay::tools
