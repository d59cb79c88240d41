// agents_rig.hpp — a live run with its agents, all of them programs of their own.
#pragma once

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/socket_address.hpp"
#include "tests/cli/child.hpp"
#include "tests/free_port.hpp"

namespace ukemi {

inline constexpr std::int64_t without_end = 1'000'000'000;

inline std::string agents_scenario(std::int64_t samples, int workers_min, int workers_max) {
    return fmt::format(R"({{"name": "agents", "seed": 3,
  "job": {{"samples": {}, "batch_per_worker": 8, "samples_per_epoch": 512,
          "throughput": {{"1": "1000 samples/s", "8": "4000 samples/s"}},
          "checkpoint": {{"kind": "saved", "cost": "1 s"}}, "restart": "1 s",
          "give_up_after": "4000 h"}},
  "cluster": {{"count_min": {}, "count_max": {}}},
  "market": {{"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"}},
  "training": {{"data": {{"kind": "synthetic", "samples": 512, "features": 16, "classes": 4}},
               "model": {{"kind": "mlp", "hidden": [16]}}, "learning_rate": 0.1,
               "collective": "ring"}},
  "replay": ["spot_only+checkpoint_on_notice"]}}
)",
                       samples, workers_min, workers_max);
}

inline void write_secret(const std::filesystem::path& file, const std::string& text) {
    write_file(file, text);
    ::chmod(file.c_str(), 0600);
}

inline const std::string a_secret = "mUcn0sgLpOU4Hv1DdCcsC3f4Hk1rYcsPvIY4P3bQ9mA=";

inline std::string free_address() { return free_port().text(); }

// A run with its agents, all of them programs of their own.
class AgentsRig {
public:
    AgentsRig(std::int64_t samples, int workers_min, int workers_max) : address(free_address()) {
        write_file(folder() / "s.json", agents_scenario(samples, workers_min, workers_max));
        write_secret(folder() / "secret", a_secret + "\n");
    }
    const std::filesystem::path& folder() const { return scratch_.path(); }

    std::vector<std::string> train_words(const std::string& out) const {
        return {"train", "s.json",        "--time-scale", "100",   "--agents",
                address, "--secret-file", "secret",       "--out", out};
    }
    std::unique_ptr<RunningProgram> train(const std::string& out) const {
        return start(train_words(out));
    }
    std::unique_ptr<RunningProgram> agent(const std::string& name, int slots,
                                          std::vector<std::string> more = {}) const {
        std::vector<std::string> words{"agent",  "--join",  address,
                                       "--name", name,      "--secret-file",
                                       "secret", "--slots", std::to_string(slots)};
        words.insert(words.end(), more.begin(), more.end());
        return start(std::move(words));
    }
    std::unique_ptr<RunningProgram> start(std::vector<std::string> words) const {
        return std::make_unique<RunningProgram>(UKEMI_BINARY, folder(), std::move(words),
                                                Output::kept);
    }
    // Without the header, which names the Plan: it is changed more often where machines come later.
    std::string newest_model(const std::string& out) const {
        std::vector<std::filesystem::path> found;
        for (const auto& entry :
             std::filesystem::directory_iterator(folder() / (out + "-checkpoints"))) {
            if (entry.path().extension() == ".ukemi") found.push_back(entry.path());
        }
        REQUIRE_FALSE(found.empty());
        return text_in(*std::ranges::max_element(found)).substr(header_bytes);
    }

    std::string address;
    static constexpr std::size_t header_bytes = 64;  // of a checkpoint

private:
    ScratchFolder scratch_;
};

// Until the program has said so, after something else; it may not end before.
inline void await_words(RunningProgram& program, const std::string& words,
                        const std::string& after = "") {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const auto is_said = [&] {
        const std::string said = program.said();
        const std::size_t from = said.find(after);
        return from != std::string::npos && said.find(words, from) != std::string::npos;
    };
    while (!is_said()) {
        INFO("waits for: " << words << "\n" << program.said());
        REQUIRE_FALSE(program.has_ended());
        REQUIRE(std::chrono::steady_clock::now() < end);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

// Of a run that had several coordinators: each step once, in order, under one of them or another,
// and every decision as its policies make it again.
inline void check_steps_and_decisions(const std::filesystem::path& results) {
    std::int64_t last = -1;
    std::size_t count = 0;
    std::istringstream rows(text_in(results / "steps.csv"));
    std::string row;
    std::getline(rows, row);
    REQUIRE(row.starts_with("t_s,step,"));
    while (std::getline(rows, row)) {
        const std::int64_t step = std::stoll(row.substr(row.find(',') + 1));
        if (step <= last) FAIL("step " << step << " after " << last);
        last = step;
        ++count;
    }
    CHECK(count > 0);
    const Ran replayed = run_ukemi(results, {"replay-log", (results / "decisions.jsonl").string()});
    INFO(replayed.err);
    CHECK(replayed.code == 0);
}

inline std::set<int> children_of_process(int process) {
    std::istringstream text(text_in(fmt::format("/proc/{}/task/{}/children", process, process)));
    std::set<int> all;
    for (int child = 0; text >> child;) all.insert(child);
    return all;
}

inline std::string decisions_in(const std::filesystem::path& out) {
    std::string text;
    for (const auto& run : std::filesystem::directory_iterator(out / "runs")) {
        text += text_in(run.path() / "decisions.jsonl");
    }
    return text;
}

}  // namespace ukemi
