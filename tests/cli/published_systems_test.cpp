// published_systems_test.cpp — what the sources of policies say, asked of the command: Crossbow's
// tuner on measured learners, SkyNomad's accounts over two regions, KungFu's benchmark.
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "tests/cli/child.hpp"
#include "tests/cli/published_rows.hpp"

namespace ukemi {
namespace {

using nlohmann::json;

json printed(std::vector<std::string> arguments, const std::filesystem::path& folder) {
    arguments.emplace_back("--json");
    const Ran ran = run_ukemi(folder, arguments);
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    return json::parse(ran.out);
}

// ---- Crossbow, VLDB'19
// ---------------------------------------------------------------------------

struct Learners {
    const char* name;
    std::vector<double> speeds;  // measured with 1, 2, … learners, of one's
    bool finds_best = true;
};
// The first two: bench_learners on two cores (bench/README.md). The rest: two jobs on one GPU and
// one alone, in iterations a second (stanford-futuredata/gavel, simulation_throughputs.json).
const std::vector<Learners> measured_learners{
    {"LeNet-5, two cores", {1, 2647.0 / 1350, 2064.0 / 1350}},
    {"perceptron, two cores", {1, 234'628.0 / 249'416, 287'879.0 / 249'416}, false},
    {"ResNet-18, 16, V100", {1, 2 * 32.35 / 32.35}},
    {"ResNet-18, 128, V100", {1, 2 * 14.06 / 17.99}},
    {"ResNet-18, 256, V100", {1, 2 * 6.56 / 10.30}},
    {"ResNet-50, 16, V100", {1, 2 * 3.61 / 11.40}},
    {"ResNet-50, 32, V100", {1, 2 * 2.85 / 7.79}},
    {"ResNet-50, 64, V100", {1, 2 * 2.19 / 4.39}},
    {"ResNet-18, 16, P100", {1, 2 * 21.4 / 35.9}},
    {"ResNet-18, 128, P100", {1, 2 * 6.29 / 11.68}, false}};

// ---- SkyNomad, docs/multi_region_progress_model.md
// -----------------------------------------------

// What a CSV of capacity has in each tick of ten minutes; it repeats.
std::vector<bool> capacity_by_tick(const std::filesystem::path& file) {
    std::vector<std::pair<std::size_t, bool>> changes;
    std::size_t ticks = 0;
    for (const std::string& line : lines_of(text_in(file))) {
        const std::size_t at = line.find("duration_s=");
        if (at != std::string::npos) ticks = std::stoul(line.substr(at + 11)) / 600;
        if (!std::isdigit(static_cast<unsigned char>(line.front()))) continue;
        const std::size_t comma = line.find(',');
        changes.emplace_back(std::stoul(line) / 600, line.substr(comma + 1) != "0");
    }
    REQUIRE(ticks > 0);
    std::vector<bool> there(ticks, false);
    for (const auto& [from, up] : changes) {
        for (std::size_t i = from; i < ticks; ++i) there[i] = up;
    }
    return there;
}

struct Wish {
    std::string market = "none";
    std::size_t zone = 0;
    friend bool operator==(const Wish&, const Wish&) = default;
};

// The Plans of a run's decisions, by the tick from which they hold.
std::map<std::size_t, Wish> wishes_in(const std::filesystem::path& decisions) {
    std::map<std::size_t, Wish> wishes;
    for (const std::string& line : lines_of(text_in(decisions))) {
        const json record = json::parse(line);
        const bool header = record.at("record") == "header";
        if (!header && record.at("record") != "question") continue;
        if (!header && !record.contains("proposed")) continue;
        const json& fleet = (header ? record.at("plan") : record.at("proposed")).at("fleet").at(0);
        const auto now_ns = header ? 0 : record.at("seen").at("now_ns").get<std::int64_t>();
        REQUIRE(now_ns % 600'000'000'000 == 0);
        wishes[static_cast<std::size_t>(now_ns / 600'000'000'000)] = {
            fleet.at("market").get<std::string>(), fleet.at("zone").get<std::size_t>()};
    }
    return wishes;
}

struct Account {
    double usd = 0;
    double egress_usd = 0;
    double hours = 0;
};

// SkyNomad's order in a tick: bill and count the one before, lose what is not there any more, then
// follow the policy. A launch takes 12 min from the work, and is not added to one under way.
Account skynomad_account(const std::map<std::size_t, Wish>& wishes) {
    const std::vector<bool> there[] = {
        capacity_by_tick(shipped("market/regions/two_regions_east.csv")),
        capacity_by_tick(shipped("market/regions/two_regions_west.csv"))};
    const double spot_usd[] = {0.92, 1.1};
    Account account;
    double left_s = 48 * 3600;
    double overhead_s = 0;
    Wish held;
    Wish wished;
    std::optional<std::size_t> checkpoint_in;
    for (std::size_t tick = 0;; ++tick) {
        if (held.market != "none") {
            account.usd += (held.market == "spot" ? spot_usd[held.zone] : 3.06) / 6;
            left_s -= std::max(600 - overhead_s, 0.0);
            overhead_s = std::max(overhead_s - 600, 0.0);
        }
        account.hours = static_cast<double>(tick) / 6;
        if (left_s <= 0) return account;
        REQUIRE(tick < 10'000);
        const auto is_there = [&](std::size_t zone) {
            return there[zone][tick % there[zone].size()];
        };
        if (held.market == "spot" && !is_there(held.zone)) held.market = "none";
        const auto now = wishes.find(tick);
        if (now != wishes.end()) wished = now->second;
        if (wished == held) continue;
        if (wished.market == "spot" && !is_there(wished.zone)) {
            held.market = "none";
            continue;
        }
        held = wished;
        if (held.market == "none") continue;
        overhead_s = 720;
        if (checkpoint_in && *checkpoint_in != held.zone) account.egress_usd += 50 * 0.02;
        checkpoint_in = held.zone;
    }
}

}  // namespace

TEST_CASE("published systems: Crossbow's tuner stops at the learners that were measured best",
          "[cli][published]") {
    const ScratchFolder scratch;
    std::vector<PublishedRow> rows;
    for (const Learners& one : measured_learners) {
        std::string speeds;
        double best = 0;
        for (std::size_t i = 0; i < one.speeds.size(); ++i) {
            speeds += fmt::format("{}\"{}\": {:.4f}", i == 0 ? "{" : ", ", i + 1, one.speeds[i]);
            best = std::max(best, one.speeds[i]);
        }
        const json document =
            printed({"replay", shipped("learners/measured_learners.json").string(), "--no-files",
                     "--set", "/job/learner_speeds=" + speeds + "}"},
                    scratch.path());
        std::map<std::string, double> speed;
        for (const json& run : document.at("runs")) {
            speed[run.at("policy").get<std::string>()] =
                run.at("samples").get<double>() / run.at("duration_s").get<double>() / 1350;
        }
        CHECK(speed.at("on_demand") == Approx(1).epsilon(1e-3));
        rows.push_back({one.name, best, speed.at("tune_learners+on_demand"), "predicted", 1,
                        one.finds_best ? 0.01 : 0.15});
    }
    check_published(
        "Crossbow's tuner: speed that it ends with, of one learner's; published: the "
        "best of those measured",
        rows);
}

TEST_CASE("published systems: a job over two regions has SkyNomad's accounts", "[cli][published]") {
    const ScratchFolder scratch;
    const json document = printed({"replay", shipped("market/skynomad_two_zones.json").string(),
                                   "--out", "r", "--only", "cost_by_cause"},
                                  scratch.path());
    std::vector<PublishedRow> rows;
    bool moved = false;
    for (const json& run : document.at("runs")) {
        const auto policy = run.at("policy").get<std::string>();
        const std::filesystem::path folder =
            scratch.path() / "r/runs" / (policy + "--skynomad_two_zones--seed-1");
        const Account account = skynomad_account(wishes_in(folder / "decisions.jsonl"));
        const double egress_usd = run.at("egress_usd").get<double>();
        const double hours = run.at("duration_s").get<double>() / 3600;
        rows.push_back({policy + ", USD", account.usd + account.egress_usd,
                        run.at("cost_usd").get<double>(), "predicted", 48 * 0.92, 1e-7});
        rows.push_back({policy + ", hours", account.hours, hours, "predicted", 48, 1e-7});
        CHECK(egress_usd == Approx(account.egress_usd).margin(1e-9));
        moved = moved || egress_usd > 3;
    }
    CHECK(moved);
    check_published("SkyNomad's rules on the same Plans (naive: 48 h of the cheaper spot)", rows);
}

TEST_CASE("published systems: KungFu's and Horovod's images a second on sixteen V100",
          "[cli][published]") {
    // lsds/KungFu, benchmarks/system/result, sync-scalability.svg: 256 to 4096 images a step.
    struct Bars {
        const char* model;
        std::vector<double> kungfu;
        std::vector<double> horovod;
    };
    const std::vector<Bars> published{
        {"resnet50", {1363, 2769, 4435, 5251, 5507}, {689, 1313, 2274, 3793, 5522}},
        {"inception_v3_224", {1537, 2722, 4801, 6770, 7426}, {739, 1426, 2690, 4643, 7410}},
        {"vgg16", {323, 642, 1121, 2098, 3330}, {163, 339, 674, 1250, 2195}}};
    struct System {
        const char* name;
        double share;  // of the line rates, fitted to ResNet-50's first, third and last bar
        const char* how;
        std::vector<double> Bars::*bars;
        double margin_vgg;
    };
    const System systems[] = {
        {"KungFu", 0.349,
         R"("buckets": {"rule": "chunks", "size": "1 MiB"}, "launch": {"rule": "by_name"},
            "collective": "binary_tree_star")",
         &Bars::kungfu, -1},
        {"Horovod", 0.0159,
         R"("buckets": {"rule": "tensors"}, "launch": {"rule": "coordinated", "cycle": "5 ms",
            "fusion": "64 MiB", "response_cache": false}, "collective": "ring")",
         &Bars::horovod, 0.2}};
    const ScratchFolder scratch;
    for (const System& system : systems) {
        std::vector<PublishedRow> rows;
        for (const Bars& bars : published) {
            const bool resnet = std::string_view(bars.model) == "resnet50";
            const char* compute =
                resnet ? R"(, "compute": {"fixed": "42.4 ms", "per_sample": "2.81 ms"})" : "";
            const json document = printed(
                {"simulate", shipped("steps/kungfu_16_v100.json").string(), "--set",
                 fmt::format(R"(/job={{"model": "{}", "batch": 64, "steps": 3, {}{}}})", bars.model,
                             system.how, compute),
                 "--set",
                 fmt::format(
                     R"(/efficiency={{"nvlink": {0}, "pcie": {0}, "socket": {0}, "network": {0}}})",
                     system.share),
                 "--vary", "/job/batch=16,32,64,128,256"},
                scratch.path());
            REQUIRE(document.at("variants").size() == 5);
            for (std::size_t i = 0; i < 5; ++i) {
                const double ours =
                    document.at("variants")[i].at("jobs")[0].at("samples_per_s").get<double>();
                const double images = (bars.*system.bars)[i];
                const bool fitted = resnet && i % 2 == 0;
                const bool inception = std::string_view(bars.model) == "inception_v3_224";
                const double linear = (bars.*system.bars)[0] * std::pow(2, i);
                rows.push_back({fmt::format("{}, {} images", bars.model, 256 << i), images, ours,
                                fitted ? "fitted" : "predicted", linear,
                                resnet      ? 0.1
                                : inception ? 0.35
                                            : system.margin_vgg});
            }
        }
        check_published(fmt::format("{}: images a second of two DGX-1 (naive: as many a GPU as at "
                                    "256)",
                                    system.name),
                        rows);
    }
}

// Romero et al., NSDI'22, abstract: "2x performance improvement at a scale of 6000 GPUs", of a
// cache of responses over asking about every tensor. Which model and batch is assumed.
TEST_CASE("published systems: what asking about every tensor costs at 6,000 GPUs",
          "[published_systems]") {
    const ScratchFolder scratch;
    const auto speed = [&](bool cache, bool by_tensor) {
        std::vector<std::string> arguments{
            "simulate", shipped("steps/horovod_6000_v100.json").string(), "--set",
            fmt::format("/job/launch/response_cache={}", cache)};
        if (!by_tensor) {
            for (const char* free :
                 {R"(/job/launch/request="1 ns")", R"(/job/launch/request_bytes="0 B")"}) {
                arguments.insert(arguments.end(), {"--set", free});
            }
        }
        const json document = printed(arguments, scratch.path());
        return document.at("jobs")[0].at("samples_per_s").get<double>();
    };
    const double cached = speed(true, true);
    const double by_ranks = cached / speed(false, false);
    const double ours = cached / speed(false, true);
    CHECK(cached == speed(true, false));
    check_published(
        "Horovod's cache of responses: times as fast as asking (naive: a message a rank)",
        {{"ResNet-50, 6,000 V100", 2, ours, "predicted", by_ranks, 0.1}});
}

}  // namespace ukemi
