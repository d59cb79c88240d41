// network_links_test.cpp — what is between hosts is measured by their workers, and policies act on
// it.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/csv_rows.hpp"
#include "tests/cli/switched_rig.hpp"
#include "tests/support/committed_plans.hpp"

namespace ukemi {

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using nlohmann::json;

constexpr int link_hosts = 3;
const std::string on_three_hosts = "1:2,2:2,3:2";
constexpr PacketWay near{.delay = 1ms};
constexpr PacketWay far{.delay = 15ms, .bytes_per_second = 2'000'000};

fs::path run_folder(const SwitchedRig& rig, const std::string& out) {
    return fs::directory_iterator(rig.folder() / out / "runs")->path();
}

// Some tens of steps, of which the two workers of host 1 tell the coordinator, one by one.
void await_steps(const SwitchedRig& rig, RunningProgram& run) {
    constexpr std::int64_t packets = 300;
    const auto end = std::chrono::steady_clock::now() + 60s;
    const std::int64_t before = rig.hosts.delivered(1, 0);
    while (rig.hosts.delivered(1, 0) < before + packets) {
        INFO(run.said());
        REQUIRE_FALSE(run.has_ended());
        REQUIRE(std::chrono::steady_clock::now() < end);
        std::this_thread::sleep_for(20ms);
    }
}

// The trees of the Plans that were committed, one after the other.
std::vector<json> trees_in(const std::string& decisions) {
    std::vector<json> trees;
    for (const std::string& plan : test::committed_plans(decisions)) {
        const json tree = json::parse(plan).value("tree", json::array());
        if (!tree.empty() && (trees.empty() || trees.back() != tree)) trees.push_back(tree);
    }
    return trees;
}

// The shortest wait for gradients in the first `count` steps, or in all.
double least_wait(const fs::path& folder, std::size_t count = SIZE_MAX) {
    auto rows = csv_rows(folder / "steps.csv");
    rows.resize(std::min(rows.size(), count));
    REQUIRE_FALSE(rows.empty());
    double least = 1e9;
    for (const auto& row : rows) {
        least = std::min(least, std::stod(row.at("exposed_communication_s")));
    }
    return least;
}

}  // namespace

TEST_CASE("networked hosts: the tree follows what workers measure between them", "[cli][live]") {
    SwitchedRig rig(link_hosts, without_end, 6, 6);
    if (is_skipped(rig)) return;
    rig.hosts.set_ways(near);
    rig.hosts.set_way(1, 3, far);
    const auto run = rig.train_on(
        on_three_hosts, "out", {"--policies", "spot_only+latency_tree", "--measure-links", "20"});
    await_steps(rig, *run);
    rig.hosts.set_way(1, 3, near);
    rig.hosts.set_way(1, 2, far);
    await_steps(rig, *run);
    run->send(SIGTERM);
    const Ran ran = run->wait();
    INFO(ran.err);
    REQUIRE(ran.code == 1);
    const fs::path folder = run_folder(rig, "out");
    const std::string decisions = text_in(folder / "decisions.jsonl");
    const auto trees = trees_in(decisions);
    REQUIRE(trees.size() >= 2);
    CHECK(trees.front() == json{0, 0, 1});  // not from 1 to 3
    CHECK(trees.back() == json{0, 2, 0});   // not from 1 to 2
    // A ring takes every sum over the far way, and cannot be faster than that; a tree takes none.
    const double far_s = std::chrono::duration<double>(far.delay).count();
    CHECK(least_wait(folder, 3) > far_s);
    CHECK(least_wait(folder) < far_s);
    const Ran again =
        run_ukemi(rig.folder(), {"replay-log", (folder / "decisions.jsonl").string()});
    INFO(again.out);
    CHECK(again.code == 0);
    CHECK_THAT(again.out, Catch::Contains(", 0 answered otherwise"));

    const json links = json::parse(text_in(folder / "live.json")).at("links");
    REQUIRE(links.size() == 3);
    for (const json& link : links) {
        CAPTURE(link.dump());
        const bool is_far = link.at("hosts") == json{0, 1};
        CHECK((link.at("round_trip_wall_s").get<double>() > 0.025) == is_far);
        CHECK((link.at("bytes_per_wall_second").get<double>() < 2.5e6) == is_far);
        CHECK(link.at("times").get<int>() >= 2);
    }
    CHECK(rig.hosts.nobody_is_left());
}

TEST_CASE("networked hosts: a calibration has what is between them", "[cli][live]") {
    SwitchedRig rig(link_hosts, 100 * 48, 3, 3);
    if (is_skipped(rig)) return;
    rig.hosts.set_ways(near);
    rig.hosts.set_way(2, 3, far);
    const Ran measured =
        rig.calibrate_on("1:1,2:1,3:1", {"--workers", "3", "--only-plan", "--repeat", "1",
                                         "--stretches", "2", "--steps", "5", "--out", "box.json"})
            ->wait();
    INFO(measured.err);
    REQUIRE(measured.code == 0);
    CHECK_THAT(measured.out, Catch::Contains("round trip, hosts 1 and 2"));
    const json links = json::parse(text_in(rig.folder() / "box.json")).at("links");
    REQUIRE(links.size() == 3);
    for (const json& link : links) {
        CAPTURE(link.dump());
        const bool is_far = link.at("host") == 1 && link.at("other") == 2;
        CHECK(link.at("round_trip").at("raw_s").size() >= 2);
        CHECK((link.at("round_trip").at("raw_s").at(0).get<double>() > 0.025) == is_far);
        CHECK((link.at("mebibyte").at("raw_s").at(0).get<double>() > 0.4) == is_far);
    }
    CHECK(rig.hosts.nobody_is_left());

    // A simulation decides by them what live workers would.
    json scenario = json::parse(text_in(rig.folder() / "s.json"));
    for (const char* measured_now : {"throughput", "restart"}) scenario["job"].erase(measured_now);
    scenario["job"]["costs"] = "box.json";
    scenario["job"]["links"] = {{"message", "1.4 kB"}};
    write_file(rig.folder() / "away.json", scenario.dump());
    const Ran replayed =
        run_ukemi(rig.folder(), {"replay", "away.json", "--policies", "latency_tree+on_demand",
                                 "--out", "simulated", "--details", "first"});
    INFO(replayed.err);
    REQUIRE(replayed.code == 0);
    const auto trees = trees_in(text_in(run_folder(rig, "simulated") / "decisions.jsonl"));
    CHECK(trees == std::vector{json{0, 0, 0}});
}

}  // namespace ukemi
