// train_namespaces_test.cpp — `ukemi train --hosts` over a network: each host a namespace of its
// own, with an address of its own, which can be cut off.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/cli/network_hosts.hpp"

namespace ukemi {

namespace {

std::string namespaces_scenario(std::int64_t samples, int workers_min, int workers_max) {
    return fmt::format(R"({{"name": "spaces", "seed": 3,
  "job": {{"samples": {}, "batch_per_worker": 8, "samples_per_epoch": 512,
          "throughput": {{"1": "1000 samples/s", "8": "4000 samples/s"}},
          "checkpoint": {{"kind": "saved", "cost": "1 s"}}, "restart": "1 s",
          "give_up_after": "4000 h"}},
  "cluster": {{"count_min": {}, "count_max": {}}},
  "market": {{"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"}},
  "training": {{"data": {{"kind": "synthetic", "samples": 512, "features": 16, "classes": 4}},
               "model": {{"kind": "mlp", "hidden": [16]}}, "learning_rate": 0.1,
               "collective": "ring"}},
  "replay": ["spot_only"]}}
)",
                       samples, workers_min, workers_max);
}

std::vector<std::string> from_here(const NetworkHosts& hosts, const std::string& on,
                                   const std::string& out) {
    std::vector<std::string> words = hosts.here();
    for (const char* word :
         {UKEMI_BINARY, "train", "s.json", "--time-scale", "100", "--address", "10.77.0.1",
          "--remote-shell", "./shell", "--remote-program", UKEMI_BINARY, "--hosts"}) {
        words.emplace_back(word);
    }
    words.insert(words.end(), {on, "--out", out});
    return words;
}

std::string newest_model(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".ukemi") found.push_back(entry.path());
    }
    REQUIRE_FALSE(found.empty());
    return text_in(*std::ranges::max_element(found));
}

constexpr const char* ip_program = "/usr/sbin/ip";

}  // namespace

TEST_CASE(
    "ukemi train --hosts: eight workers on four networked hosts learn bit for bit what they "
    "do at home",
    "[cli][live]") {
    const ScratchFolder scratch;
    const NetworkHosts hosts(4);
    if (!hosts.refusal().empty()) {
        WARN("skipped: no network namespaces here: " << hosts.refusal());
        return;
    }
    write_file(scratch.path() / "s.json", namespaces_scenario(40 * 64, 8, 8));
    hosts.write_shell(scratch.path() / "shell");
    const Ran away =
        run_program(ip_program, scratch.path(), from_here(hosts, "1:2,2:2,3:2,4:2", "away"));
    INFO(away.err);
    REQUIRE(away.code == 0);
    const Ran home =
        run_ukemi(scratch.path(), {"train", "s.json", "--time-scale", "100", "--out", "home"});
    REQUIRE(home.code == 0);
    CHECK(newest_model(scratch.path() / "away-checkpoints") ==
          newest_model(scratch.path() / "home-checkpoints"));
    CHECK(hosts.nobody_is_left());
}

TEST_CASE("ukemi train --hosts: a host that is cut off is lost, and the others go on",
          "[cli][live]") {
    const ScratchFolder scratch;
    const NetworkHosts hosts(2);
    if (!hosts.refusal().empty()) {
        WARN("skipped: no network namespaces here: " << hosts.refusal());
        return;
    }
    write_file(scratch.path() / "s.json", namespaces_scenario(1'000'000'000, 1, 4));
    hosts.write_shell(scratch.path() / "shell");
    RunningProgram run(ip_program, scratch.path(), from_here(hosts, "1:2,2:2", "out"),
                       Output::kept);
    const auto steps_go_on = [&](std::chrono::milliseconds time) {
        std::this_thread::sleep_for(time);
        return !run.has_ended();
    };
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (hosts.processes(2).empty() && std::chrono::steady_clock::now() < end) {
        REQUIRE(steps_go_on(std::chrono::milliseconds(50)));
    }
    REQUIRE(steps_go_on(std::chrono::seconds(3)));
    hosts.cut_off(2);
    REQUIRE(steps_go_on(std::chrono::seconds(5)));
    run.send(SIGTERM);
    const Ran ran = run.wait();
    INFO(ran.err);
    CHECK(ran.code == 1);
    CHECK_THAT(ran.err, Catch::Contains("no heartbeat for"));
    CHECK_THAT(ran.err, Catch::Contains("the model is saved, all "));
}

}  // namespace ukemi
