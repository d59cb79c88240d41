// train_hosts_test.cpp — `ukemi train --hosts`: workers on other hosts, which a stand-in for ssh
// plays on this machine.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <regex>
#include <sstream>

#include "tests/cli/child.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;

constexpr int hosts_steps = 60;

std::string hosts_scenario() {
    return R"({"name": "hosts", "seed": 3,
  "job": {"samples": )" +
           std::to_string(hosts_steps * 4 * 8) +
           R"(, "batch_per_worker": 8, "samples_per_epoch": 512,
          "throughput": {"1": "1000 samples/s", "4": "2000 samples/s"},
          "checkpoint": {"kind": "saved", "cost": "1 s"}, "restart": "1 s",
          "give_up_after": "4000 h"},
  "cluster": {"count_min": 4, "count_max": 4},
  "market": {"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"},
  "training": {"data": {"kind": "synthetic", "samples": 512, "features": 16, "classes": 4},
               "model": {"kind": "mlp", "hidden": [16]}, "learning_rate": 0.1},
  "replay": ["spot_only"]}
)";
}

// Like ssh HOST COMMAND, but here; notes what it was told, and what its environment shows.
void write_stand_in(const fs::path& folder) {
    write_file(folder / "shell",
               "#!/bin/sh\n"
               "echo \"$@\" >> told\n"
               "env >> environments\n"
               "shift\n"
               "exec sh -c \"$*\"\n");
    ::chmod((folder / "shell").c_str(), 0755);
}

std::vector<std::string> train_on(const std::string& hosts, std::vector<std::string> more) {
    std::vector<std::string> words{
        "train",          "s.json",  "--time-scale",     "100",        "--hosts",   hosts,
        "--remote-shell", "./shell", "--remote-program", UKEMI_BINARY, "--address", "127.0.0.1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

std::string last_checkpoint(const fs::path& folder) {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() == ".ukemi") found.push_back(entry.path());
    }
    REQUIRE_FALSE(found.empty());
    return text_in(*std::ranges::max_element(found));
}

}  // namespace

TEST_CASE("ukemi train --hosts: four workers on two hosts learn bit for bit what they do at home",
          "[cli][live]") {
    const ScratchFolder scratch;
    const fs::path& folder = scratch.path();
    write_file(folder / "s.json", hosts_scenario());
    write_stand_in(folder);
    const Ran away = run_ukemi(folder, train_on("a:2,me@b:3", {"--out", "away"}));
    INFO(away.err);
    REQUIRE(away.code == 0);
    const Ran home = run_ukemi(folder, {"train", "s.json", "--time-scale", "100", "--out", "home"});
    REQUIRE(home.code == 0);
    CHECK(last_checkpoint(folder / "away-checkpoints") ==
          last_checkpoint(folder / "home-checkpoints"));
    const std::string told = text_in(folder / "told");
    std::istringstream lines(told);
    std::vector<std::string> hosts;
    for (std::string line; std::getline(lines, line);) {
        hosts.push_back(line.substr(0, line.find(' ')));
        CHECK(line.substr(line.find(' ') + 1) ==
              fmt::format("{} worker --backend cpu --read-invitation", UKEMI_BINARY));
    }
    std::ranges::sort(hosts);
    CHECK(hosts == std::vector<std::string>{"a", "a", "me@b", "me@b"});
    // The secret went by standard input alone.
    const std::regex secret("[0-9a-f]{64}");
    CHECK_FALSE(std::regex_search(told, secret));
    const std::string environments = text_in(folder / "environments");
    CHECK_FALSE(environments.empty());
    CHECK(environments.find("UKEMI_SECRET") == std::string::npos);
}

TEST_CASE("ukemi train --hosts: hosts that start nobody end it with one line, and leave nothing",
          "[cli][live]") {
    const ScratchFolder scratch;
    const fs::path& folder = scratch.path();
    write_file(folder / "s.json", hosts_scenario());
    write_file(folder / "shell", "#!/bin/sh\necho \"ssh: no way to $1\" >&2\nexit 255\n");
    ::chmod((folder / "shell").c_str(), 0755);
    const Ran ran = run_ukemi(folder, train_on("a:2,b:2", {"--out", "away"}));
    INFO(ran.err);
    CHECK(ran.code == 1);
    CHECK(ran.out.empty());
    std::istringstream lines(ran.err);
    std::vector<std::string> said;
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("incident: ") && !line.starts_with("ssh: ")) said.push_back(line);
    }
    REQUIRE(said.size() == 1);
    CHECK_THAT(said.front(), Catch::StartsWith("stopped before step 0: ") &&
                                 Catch::Contains("workers in a row died"));
    CHECK_FALSE(fs::exists(folder / "away"));
    CHECK_FALSE(fs::exists(folder / "away-checkpoints"));
}

TEST_CASE("ukemi calibrate --hosts: costs are of these hosts, and predict runs on them alone",
          "[cli][live]") {
    const ScratchFolder scratch;
    const fs::path& folder = scratch.path();
    write_file(folder / "s.json", hosts_scenario());
    write_stand_in(folder);
    const std::vector<std::string> there{"--hosts",          "a:2,b:2",        "--address",
                                         "127.0.0.1",        "--remote-shell", "./shell",
                                         "--remote-program", UKEMI_BINARY};
    const auto run = [&](std::vector<std::string> words, bool on_hosts) {
        if (on_hosts) words.insert(words.end(), there.begin(), there.end());
        return run_ukemi(folder, words);
    };
    const Ran measured =
        run({"calibrate", "s.json", "--workers", "4", "--batches", "4,8,16", "--repeat", "1",
             "--stretches", "2", "--steps", "5", "--out", "group.json"},
            true);
    INFO(measured.err);
    REQUIRE(measured.code == 0);
    CHECK_THAT(text_in(folder / "group.json"), Catch::Contains(" on hosts a:2,b:2\""));
    const std::string told = text_in(folder / "told");
    for (const char* host : {"a", "b"}) {
        CHECK_THAT(told, Catch::Contains(fmt::format("{} {} worker", host, UKEMI_BINARY)));
    }
    const Ran trained = run(
        {"train", "s.json", "--costs", "group.json", "--time-scale", "100", "--out", "out"}, true);
    INFO(trained.err);
    CHECK(trained.code == 0);
    CHECK_THAT(trained.out, Catch::StartsWith("predicted: "));
    const Ran compared = run({"diff", "out-predicted", "out"}, false);
    CHECK_THAT(compared.out, Catch::Contains(" changes, equal"));
    const std::vector<std::string> predict{"predict",   "s.json", "--costs",   "group.json",
                                           "--workers", "4",      "--run",     "workers=4,batch=12",
                                           "--repeat",  "1",      "--seconds", "0.1",
                                           "--out",     "p"};
    const Ran predicted = run(predict, true);
    INFO(predicted.err);
    CHECK(predicted.code == 0);
    CHECK_THAT(predicted.out, Catch::Contains("4 workers, batch 12, s_sgd"));
    std::vector<std::string> at_home = predict;
    at_home.back() = "q";
    const Ran refused = run(at_home, false);
    INFO(refused.err);
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err, Catch::Contains("group.json") && Catch::Contains("a:2,b:2"));
}

TEST_CASE("ukemi train --hosts: a host that cannot be reached is a worker that died",
          "[cli][live]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "s.json", hosts_scenario());
    write_file(scratch.path() / "shell", "#!/bin/sh\necho \"no route to $1\" >&2\nexit 255\n");
    ::chmod((scratch.path() / "shell").c_str(), 0755);
    const Ran ran = run_ukemi(scratch.path(), train_on("a:4", {"--out", "out"}));
    CHECK(ran.code == 1);
    CHECK_THAT(ran.err,
               Catch::Contains("no route to a") && Catch::Contains("on a: ended with status 255"));
}

TEST_CASE("ukemi train --dry-run: prints what would start the workers, and starts nothing",
          "[cli]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "s.json", hosts_scenario());
    const Ran away = run_ukemi(scratch.path(), {"train", "s.json", "--hosts", "a:3,b:4",
                                                "--address", "127.0.0.1", "--dry-run"});
    INFO(away.err);
    CHECK(away.code == 0);
    const std::string on = " 'ukemi worker --backend cpu --read-invitation'\n";
    const std::string a = "ssh -o BatchMode=yes a" + on;
    CHECK(away.out == a + a + a + "ssh -o BatchMode=yes b" + on);
    // No more workers than places, and no fewer than the scenario allows.
    std::vector<std::string> on_three{"train",     "s.json",    "--hosts",  "a:3",
                                      "--address", "127.0.0.1", "--dry-run"};
    const Ran refused = run_ukemi(scratch.path(), on_three);
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err,
               Catch::StartsWith("ukemi: --hosts: 3 workers are fewer than the least number of the "
                                 "scenario, 4 (count_min at /cluster in s.json)"));
    on_three.insert(on_three.end(), {"--set", "/cluster/count_min=1"});
    const Ran few = run_ukemi(scratch.path(), on_three);
    CHECK(few.out == a + a + a);
    const Ran trusted = run_ukemi(
        scratch.path(), {"train", "s.json", "--hosts", "a:1", "--address", "127.0.0.1",
                         "--trusted-network", "--dry-run", "--set", "/cluster/count_min=1"});
    CHECK(trusted.out ==
          "ssh -o BatchMode=yes a 'ukemi worker --backend cpu --trusted-network "
          "--read-invitation'\n");
    const Ran alone = run_ukemi(scratch.path(), {"train", "s.json", "--measure-links", "5"});
    CHECK(alone.code == 2);
    CHECK_THAT(alone.err, Catch::Contains("--measure-links: goes with --hosts or --agents"));
    const Ran home = run_ukemi(scratch.path(), {"train", "s.json", "--dry-run"});
    CHECK(home.code == 0);
    CHECK(std::ranges::count(home.out, '\n') == 4);
    CHECK_THAT(home.out, Catch::EndsWith(" worker --backend cpu\n"));
    CHECK(std::distance(fs::directory_iterator(scratch.path()), {}) == 1);
}

TEST_CASE("ukemi train --hosts: what does not fit together is refused in one line", "[cli]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "s.json", hosts_scenario());
    const std::vector<std::pair<std::vector<std::string>, std::string>> table{
        {{"--hosts", "a:4"}, "--hosts: expected also --address"},
        {{"--address", "127.0.0.1"}, "--address: is where --hosts reach this machine"},
        {{"--remote-shell", "x"}, "--remote-shell: is for --hosts"},
        {{"--remote-program", "x"}, "--remote-program: is for --hosts"},
        {{"--hosts", "a:0", "--address", "127.0.0.1"}, "--hosts: expected hosts with how many"},
        {{"--hosts", "a:4,", "--address", "127.0.0.1"}, "--hosts: expected hosts with how many"},
        {{"--hosts", "-oProxyCommand=x", "--address", "127.0.0.1"}, "--hosts: expected hosts"},
        {{"--hosts", "a;b", "--address", "127.0.0.1"}, "--hosts: expected hosts with how many"},
        {{"--hosts", "a:2,a:2", "--address", "127.0.0.1"}, "--hosts: \"a\" is there twice"},
        {{"--hosts", "a:4", "--address", "localhost"}, "--address: expected an address of this"},
        {{"--hosts", "a:4", "--address", "0.0.0.0"}, "--address: expected an address of this"},
        {{"--hosts", "a:4", "--address", "192.0.2.1"}, "--address: expected an address of this"},
        {{"--hosts", "a:4", "--address", "127.0.0.1", "--cores", "0"}, "--cores: are this"},
        {{"--hosts", "a:4", "--address", "127.0.0.1", "--remote-shell", "./none"},
         "--remote-shell: expected a program, found none named ./none"},
    };
    for (const auto& [more, expected] : table) {
        std::vector<std::string> words{"train", "s.json", "--out", "out"};
        words.insert(words.end(), more.begin(), more.end());
        const Ran ran = run_ukemi(scratch.path(), words);
        INFO(ran.err);
        CHECK(ran.code == 2);
        CHECK_THAT(ran.err, Catch::Contains(expected));
        CHECK(std::ranges::count(ran.err, '\n') == 1);
        CHECK_FALSE(fs::exists(scratch.path() / "out"));
    }
}

}  // namespace ukemi
