// hosts_market_test.cpp — four hosts with two workers each live through a recorded market, and
// policies decide what they do in simulation.
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <exception>
#include <optional>
#include <thread>

#include "base/file_descriptor.hpp"
#include "tests/cli/network_hosts.hpp"
#include "tests/runtime/live_rig.hpp"
#include "tests/support/committed_plans.hpp"

namespace ukemi {

namespace {

struct Change {
    int at_s = 0;
    int instances = 0;
};

// g4dn.xlarge in us-east-1d on 24 November 2020, from 25,435 s to 29,194 s of Bamboo's record
// (tests/data/bamboo/aws_2020_doc), which held more than these hosts do for a while.
constexpr std::array recorded{Change{0, 2},    Change{94, 1},  Change{278, 5}, Change{306, 8},
                              Change{387, 2},  Change{673, 7}, Change{809, 3}, Change{3545, 10},
                              Change{3632, 5}, Change{3759, 3}};
constexpr int notice_s = 10;
constexpr int end_s = 4000;
constexpr int places = 8;

// What this thread makes from now on, it makes on the coordinator's host.
void enter(const std::string& name_space) {
    const FileDescriptor there(
        ::open(("/var/run/netns/" + name_space).c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(there);
    REQUIRE(::setns(there.get(), CLONE_NEWNET) == 0);
}

// Between two changes of the market a group of the size that it allows comes to train, however long
// this machine takes for that.
void wait_for_groups(WaitingWall& clock) {
    const auto trains = [](int workers) {
        return [workers](const runtime::LiveRecord& record) {
            return !record.steps.empty() && record.steps.back().workers == workers;
        };
    };
    int before = 0;
    for (const Change& change : recorded) {
        const int workers = std::min(change.instances, places);
        if (before > 0) {
            clock.wait_at(Instant{} + seconds(change.at_s - notice_s - 1), trains(before));
        }
        before = workers;
    }
    clock.wait_at(Instant{} + seconds(end_s - 1), trains(before));
}

}  // namespace

TEST_CASE(
    "ukemi train --hosts: through a recorded market policies decide on four networked hosts what "
    "they decide in simulation",
    "[cli][live]") {
    const ScratchFolder folder;
    const NetworkHosts hosts(4);
    if (!hosts.refusal().empty()) {
        WARN("skipped: no network namespaces here: " << hosts.refusal());
        return;
    }
    hosts.write_shell(folder.path() / "shell");
    std::string trace = "# id=g4dn duration_s=72000\nt_s,instances\n";
    for (const Change& change : recorded) {
        trace += fmt::format("{},{}\n", change.at_s, change.instances);
    }
    write_file(folder.path() / "trace.csv", trace);
    const scenarios::Scenario scenario = live_scenario(
        endless, places, fmt::format(R"(, "notice": "{} s", "after_last_row": "hold")", notice_s),
        "follow_capacity+spot_only+checkpoint_on_notice", fmt::format("{} s", end_s));
    const scenarios::NamedMarket market =
        scenarios::make_market(scenario, 1, folder.path() / "trace.csv");
    runtime::LiveOptions options = options_in(folder, 1000);
    options.listen = "10.77.0.1";
    options.remote.hosts = runtime::parse_hosts("1:2,2:2,3:2,4:2", "hosts");
    options.remote.shell = {(folder.path() / "shell").string()};
    options.remote.program = UKEMI_BINARY;
    WaitingWall clock(options);
    wait_for_groups(clock);
    std::optional<runtime::LiveRun> live;
    std::exception_ptr problem;
    std::thread([&] {
        try {
            enter(hosts.here().back());
            live = run_it(scenario, market, options);
        } catch (...) {
            problem = std::current_exception();
        }
    }).join();
    if (problem) std::rethrow_exception(problem);
    CHECK(clock.all_happened());
    require_sound(*live);
    CHECK(live->run.result.duration == seconds(end_s));
    CHECK(live->record.incidents.empty());  // all losses were the market's

    const scenarios::FinishedRun simulated = scenarios::run_one(
        scenario, market, scenario.policies.front(), scenario.seed, {true, true, true, false});
    const std::vector<std::string> decided = test::committed_plans(live->run.decisions);
    CHECK(decided.size() == recorded.size());
    CHECK(decided == test::committed_plans(simulated.decisions));
    CHECK(hosts.nobody_is_left());
}

}  // namespace ukemi
