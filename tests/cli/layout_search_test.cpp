// layout_search_test.cpp — `ukemi simulate --search layouts` against every layout one by one.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "analysis/layout_search.hpp"
#include "tests/cli/child.hpp"

namespace ukemi {
namespace {

// Eight GPUs in one machine or two, a transformer by its sizes, and what changes.
std::string scenario_text(const char* cluster, const char* model, const char* more) {
    return fmt::format(R"({{"name": "small", "seed": 1, "cluster": {},
        "job": {{"model": {}, "batch": 2, "accumulation": 1, "precision": "fp16",
                 "optimiser_state": "adam", "collective": "ring", "steps": 1, {}}}}})",
                       cluster, model, more);
}

constexpr const char* one_machine = R"({"machine": "p3.16xlarge", "count": 1})";
constexpr const char* two_machines = R"({"machine": "p3.8xlarge", "count": 2})";
constexpr const char* small_model =
    R"({"kind": "transformer", "layers": 4, "hidden": 512, "heads": 4, "vocabulary": 5000,
        "sequence": 256})";
// Four stages where embedding and loss count as a block each.
constexpr const char* uneven_model =
    R"({"kind": "transformer", "layers": 6, "hidden": 512, "heads": 4, "vocabulary": 5000,
        "sequence": 256})";
constexpr const char* expert_model =
    R"({"kind": "transformer", "layers": 2, "hidden": 256, "heads": 2, "vocabulary": 2000,
        "sequence": 8, "experts": 4})";
constexpr const char* tiny_model =
    R"({"kind": "transformer", "layers": 2, "hidden": 256, "heads": 2, "vocabulary": 2000,
        "sequence": 64})";
// Some layouts of it need more than the 16 GB of a V100.
constexpr const char* large_model =
    R"({"kind": "transformer", "layers": 24, "hidden": 2048, "heads": 16, "vocabulary": 50000,
        "sequence": 1024})";

struct Tried {
    double step_s = 0;
    std::string layout;
};
struct ByForce {
    std::vector<Tried> fastest;  // first
    std::size_t too_large = 0;
};

// Every combination of the keys that a scenario may have, read and simulated by itself: what the
// reader takes is a layout, what it refuses for its bytes is too large, everything else is none.
ByForce by_force(const analysis::StepDocument& document, std::int64_t layers, bool wide = false,
                 bool both_ways = false, bool whole = false) {
    ByForce found;
    const auto play = [&](std::int64_t samples, const std::string& keys, std::int64_t data,
                          std::int64_t batch) {
        if (samples % (data * batch) != 0) return;
        const std::vector<ConfigOverride> overrides = {
            {"/job/layout", fmt::format("{{{}, \"data\": {}}}", keys, data)},
            {"/job/batch", fmt::format("{}", batch)},
            {"/job/accumulation", fmt::format("{}", samples / data / batch)}};
        std::vector<scenarios::StepScenario> one;
        try {
            one.push_back(
                scenarios::step_scenario_from_text(document.text, document.file, overrides));
        } catch (const InputError& error) {
            const std::string text = error.what();
            if (text.find("gradients and optimiser") != std::string::npos) ++found.too_large;
            return;
        }
        const auto variant = analysis::simulate_steps(std::move(one), 0);
        found.fastest.push_back({variant.front().jobs.front().step_s.mean,
                                 analysis::words_of(variant.front().scenario.jobs[0].request)});
    };
    const auto play_all = [&](const std::string& degrees, std::int64_t pipeline,
                              std::int64_t data) {
        const bool groups = degrees.find(R"("tensor": 1,)") == std::string::npos;
        const std::string sequence = whole && groups ? R"(, "sequence_parallel": true)" : "";
        for (std::int64_t batch = 1; batch <= 16; ++batch) {
            for (const bool again : {false, true}) {
                const std::string keys =
                    fmt::format(R"({}{}, "recompute": {})", degrees, sequence, again);
                const bool apart = both_ways && pipeline > 1;
                play(16, keys + (apart ? R"(, "schedule": "zero_bubble")" : ""), data, batch);
                if (apart) play(16, keys + R"(, "schedule": "dual_pipe")", data, batch);
                if (pipeline > 1 && data * batch < 16) {
                    play(16, keys + R"(, "schedule": "gpipe")", data, batch);
                }
                for (std::int64_t chunks = 2; chunks <= layers && pipeline > 1; ++chunks) {
                    const std::string cut = R"(, "schedule": "interleaved", "chunks": )";
                    play(16, keys + cut + std::to_string(chunks), data, batch);
                }
            }
        }
    };
    for (std::int64_t ranks = 0; ranks < 8 * 8 * 8; ++ranks) {
        const std::int64_t tensor = ranks % 8 + 1;
        const std::int64_t pipeline = ranks / 8 % 8 + 1;
        const std::int64_t context = ranks / 64 + 1;
        const std::int64_t data = 8 / tensor / pipeline / context;
        if (data * tensor * pipeline * context != 8 || (context > 1 && !wide)) continue;
        const std::string degrees = fmt::format(R"("tensor": {}, "pipeline": {}, "context": {})",
                                                tensor, pipeline, context);
        for (const std::string_view shard : sim::shard_names) {
            if (shard != "none" && !wide) continue;
            // Where nobody has the same, dividing is no other layout.
            const std::string keys = fmt::format(R"({}, "shard": "{}")", degrees, shard);
            if (shard == "none" || data * context > 1) play_all(keys, pipeline, data);
            for (std::int64_t expert = 2; wide && expert <= data * context; ++expert) {
                play_all(fmt::format(R"({}, "expert": {})", keys, expert), pipeline, data);
            }
            for (std::int64_t expert = 1; whole && tensor > 1 && expert <= 8; ++expert) {
                if (shard != "none" && std::max(data * context, 8 / pipeline / expert) == 1) {
                    continue;
                }
                play_all(fmt::format(R"({}, "expert": {}, "expert_tensor": 1)", keys, expert),
                         pipeline, data);
            }
        }
    }
    std::ranges::stable_sort(found.fastest, {}, &Tried::step_s);
    return found;
}

}  // namespace

TEST_CASE("layout search: finds what simulating every layout one by one finds", "[layout_search]") {
    struct World {
        const char* cluster;
        const char* model;
        std::int64_t layers;
        const char* more;
        bool wide = false;       // context and shard, too
        bool both_ways = false;  // zero_bubble and dual_pipe
        bool whole = false;      // and experts that tensor ranks do not cut
    };
    for (const World& world : {
             World{one_machine, small_model, 4, R"("compute": {"kernels": {}})"},
             World{two_machines, small_model, 4, R"("compute": {"arithmetic_share": 0.3})"},
             World{two_machines, uneven_model, 6, R"("compute": {"kernels": {}})"},
             World{one_machine, small_model, 4, R"("stragglers": {"independent": 0.1})"},
             World{two_machines, large_model, 24, R"("buckets": {"rule": "one"})"},
             World{one_machine, tiny_model, 2, R"("compute": {"arithmetic_share": 0.3})", true},
             World{two_machines, tiny_model, 2, R"("compute": {"kernels": {}})", true},
             World{two_machines, expert_model, 2, R"("compute": {"kernels": {}})", true},
             World{one_machine, small_model, 4,
                   R"("layout": {"pipeline": 4, "schedule": "dual_pipe"})", false, true},
             World{one_machine, expert_model, 2,
                   R"("layout": {"tensor": 2, "sequence_parallel": true})", true, false, true},
         }) {
        CAPTURE(world.cluster, world.more);
        std::string text = scenario_text(world.cluster, world.model, world.more);
        if (world.both_ways) {  // as many samples, in eight micro-batches
            const std::string one = R"("batch": 2, "accumulation": 1)";
            text.replace(text.find(one), one.size(), R"("batch": 1, "accumulation": 8)");
        }
        if (world.whole) {  // half as many replicas
            const std::string one = R"("batch": 2,)";
            text.replace(text.find(one), one.size(), R"("batch": 4,)");
        }
        const analysis::StepDocument document{"small.json", text, {}};
        const ByForce forced =
            by_force(document, world.layers, world.wide, world.both_ways, world.whole);
        const analysis::LayoutSearch search =
            analysis::search_layouts(document, {}, 5, {}, {world.wide, world.wide, world.wide});
        CHECK(search.samples == 16);
        CHECK(search.layouts.size() == forced.fastest.size() + forced.too_large);
        CHECK(search.count(analysis::is_too_large) == forced.too_large);
        const std::size_t shown = std::min<std::size_t>(5, forced.fastest.size());
        REQUIRE(search.count(analysis::was_simulated) >= shown);
        for (std::size_t i = 0; i < shown; ++i) {
            CHECK(search.layouts[i].step_s == forced.fastest[i].step_s);
        }
        // No layout that was passed over is faster than its bound says.
        for (const analysis::TriedLayout& layout : search.layouts) {
            if (analysis::was_simulated(layout)) CHECK(layout.least_s <= *layout.step_s);
            if (analysis::was_passed_over(layout)) {
                CHECK(layout.least_s >= *search.layouts[shown - 1].step_s);
            }
        }
    }
}

TEST_CASE("layout search: only some are simulated, and no more with more threads",
          "[layout_search]") {
    const analysis::StepDocument document{
        "small.json",
        scenario_text(two_machines, large_model, R"("buckets": {"rule": "one"})"),
        {}};
    const analysis::LayoutSearch search = analysis::search_layouts(document, {}, 1);
    const std::size_t simulated = search.count(analysis::was_simulated);
    CHECK(simulated % 4 == 0);
    CHECK(simulated < search.count(analysis::was_passed_over));
    // All that fit and are not shown are counted, whether they were simulated or not.
    const std::size_t fitting = simulated + search.count(analysis::was_passed_over);
    for (const std::size_t shown : {std::size_t{0}, std::size_t{1}, simulated}) {
        CHECK_THAT(analysis::layouts_table(search, shown),
                   Catch::Contains(fmt::format("  {} more that fit take ", fitting - shown)));
    }
    CHECK_THAT(analysis::layouts_table(search, 0),
               Catch::Contains(
                   fmt::format("take {:.3f} ms or more", 1e3 * *search.layouts.front().step_s)));
}

TEST_CASE("ukemi simulate --search layouts: the step of the winner is that of its scenario",
          "[cli][layout_search]") {
    const ScratchFolder scratch;
    const std::string file =
        write_file(scratch.path() / "small.json",
                   scenario_text(one_machine, large_model, R"("buckets": {"rule": "one"})"))
            .string();
    const Ran table = run_ukemi(scratch.path(), {"simulate", file, "--search", "layouts",
                                                 "--runners-up", "2", "--out", "found"});
    CHECK(table.err.empty());
    REQUIRE(table.code == 0);
    CHECK_THAT(table.out, Catch::Contains("layouts of 8 workers, 16 samples a step: ") &&
                              Catch::Contains("need more than the 17.18 GB of v100_sxm2_16gb") &&
                              Catch::Contains("bytes more") && Catch::Contains("more that fit") &&
                              Catch::Contains("job transformer: "));
    const Ran found =
        run_ukemi(scratch.path(), {"simulate", file, "--search", "layouts", "--json"});
    REQUIRE(found.code == 0);
    const nlohmann::json document = nlohmann::json::parse(found.out);
    const nlohmann::json& best = document.at("layouts").at(0);
    std::int64_t counted = 0;
    for (const auto& [part, size] : best.at("bytes_per_gpu").items()) {
        if (part != "total") counted += size.get<std::int64_t>();
    }
    CHECK(counted == best.at("bytes_per_gpu").at("total"));
    CHECK(best.at("bytes_per_gpu").contains("exchange"));
    CHECK(best.at("step_s") == document.at("jobs").at(0).at("step_s").at("mean"));
    const Ran typed = run_ukemi(
        scratch.path(), {"simulate", file, "--json", "--set",
                         fmt::format("/job/layout={}", best.at("layout").dump()), "--set",
                         fmt::format("/job/batch={}", best.at("batch").dump()), "--set",
                         fmt::format("/job/accumulation={}", best.at("accumulation").dump())});
    REQUIRE(typed.code == 0);
    CHECK(nlohmann::json::parse(typed.out).at("jobs") == document.at("jobs"));
    // Its results run again without a search.
    const Ran again = run_ukemi(scratch.path(), {"simulate", "found", "--json"});
    REQUIRE(again.code == 0);
    CHECK(nlohmann::json::parse(again.out).at("jobs") == document.at("jobs"));
    CHECK(nlohmann::json::parse(text_in(scratch.path() / "found" / "layouts.json")).size() ==
          document.at("layouts").size());
}

TEST_CASE("layout search: the scenario's own degrees are replaced, not judged", "[layout_search]") {
    // Each is refused by itself: no tensor group, no pipeline, more memory or heads than there are.
    for (const char* own : {
             R"({"sequence_parallel": true})",
             R"({"sequence_parallel": true, "overlap_tensor": true})",
             R"({"schedule": "dual_pipe"})",
             R"({"tensor": 8, "sequence_parallel": true})",
         }) {
        CAPTURE(own);
        std::string text =
            scenario_text(one_machine, small_model, fmt::format(R"("layout": {})", own).c_str());
        const std::string one = R"("batch": 2, "accumulation": 1)";
        text.replace(text.find(one), one.size(), R"("batch": 1, "accumulation": 8)");
        const analysis::StepDocument document{"small.json", text, {}};
        CHECK_THROWS_AS(scenarios::step_scenario_from_text(text, "small.json"), InputError);
        const analysis::LayoutSearch search = analysis::search_layouts(document, {}, 1);
        CHECK(search.samples == (std::string_view(own).find("8") < 20 ? 8 : 64));
        CHECK(search.layouts.front().refusal.empty());
    }
    // What no layout of one worker can have says nothing.
    const std::string alone = scenario_text(R"({"machine": "p3.2xlarge", "count": 1})", small_model,
                                            R"("layout": {"sequence_parallel": true})");
    const analysis::StepDocument document{"small.json", alone, {}};
    CHECK_THROWS_WITH(analysis::search_layouts(document, {}, 1),
                      Catch::Contains("at /job/layout/sequence_parallel: none of the ") &&
                          Catch::EndsWith(" layouts of 1 workers can have it"));
}

TEST_CASE("layout search: a schedule is asked for without a pipeline of one's own",
          "[layout_search]") {
    const auto zero_bubbles = [](const char* own) {
        const std::string text = scenario_text(one_machine, small_model, own);
        const analysis::StepDocument document{"small.json", text, {}};
        const analysis::LayoutSearch search = analysis::search_layouts(document, {}, 1);
        return std::ranges::count_if(search.layouts, [](const auto& layout) {
            return layout.request.schedule == sim::PipelineKind::zero_bubble;
        });
    };
    CHECK(zero_bubbles(R"("layout": {"schedule": "zero_bubble"})") > 0);
    CHECK(zero_bubbles(R"("layout": {"schedule": "zero_bubble", "pipeline": 2})") > 0);
    CHECK(zero_bubbles(R"("name": "a")") == 0);
}

TEST_CASE("layout search: experts that the file divides are divided where they can be",
          "[layout_search][experts]") {
    const analysis::StepDocument document{
        "small.json",
        scenario_text(one_machine, expert_model,
                      R"("layout": {"expert": 4, "shard": "gradients"})"),
        {}};
    const analysis::LayoutSearch search = analysis::search_layouts(document, {}, 1);
    CHECK(search.count(analysis::was_simulated) > 0);
    for (const analysis::TriedLayout& layout : search.layouts) {
        CHECK(layout.request.expert == 4);
        CHECK(layout.refusal.empty());
    }
    const analysis::StepDocument none{
        "small.json", scenario_text(one_machine, small_model, R"("layout": {"expert": 4})"), {}};
    CHECK_THROWS_WITH(analysis::search_layouts(none, {}, 1),
                      Catch::Contains("at /job/layout/expert: none of the "));
}

TEST_CASE("ukemi simulate --search layouts: what it cannot do is said", "[cli][layout_search]") {
    const ScratchFolder scratch;
    const auto complaint = [&](const std::string& text, std::vector<std::string> more = {}) {
        const std::string file = write_file(scratch.path() / "s.json", text).string();
        more.insert(more.begin(), {"simulate", "s.json", "--search", "layouts"});
        const Ran ran = run_ukemi(scratch.path(), more);
        CHECK(ran.code == 2);
        CHECK(is_one_line(ran.err));
        return ran.err;
    };
    const std::string small = scenario_text(one_machine, small_model, R"("name": "a")");
    CHECK_THAT(complaint(small, {"--vary", "/job/batch=1,2"}),
               Catch::Contains("--search: is for one scenario: leave out --vary"));
    const Ran alone = run_ukemi(scratch.path(), {"simulate", "s.json", "--search", "shard"});
    CHECK(alone.code == 2);
    CHECK(is_one_line(alone.err));
    CHECK_THAT(alone.err, Catch::Contains("--search: expected \"layouts\", and beside it"));
    std::string servers =
        scenario_text(one_machine, small_model, R"("variable_update": "parameter_server")");
    const std::string ring = "\"collective\": \"ring\",";
    servers.erase(servers.find(ring), ring.size());  // which has nothing to do with servers
    CHECK_THAT(complaint(servers),
               Catch::Contains("s.json: at /job/variable_update: --search "
                               "layouts is for jobs without parameter servers"));
    const char* huge =
        R"({"kind": "transformer", "layers": 24, "hidden": 8192, "heads": 16, "vocabulary": 50000,
            "sequence": 1024})";
    CHECK_THAT(complaint(scenario_text(one_machine, huge, R"("name": "a")")),
               Catch::Contains("layouts fits on v100_sxm2_16gb with 17179869184 bytes: the "
                               "smallest, tensor 8 x pipeline 1 x data 1") &&
                   Catch::Contains(" bytes more"));
    const char* flash =
        R"({"kind": "transformer", "layers": 2, "hidden": 64, "heads": 4, "vocabulary": 64,
            "sequence": 64, "flash_attention": true})";
    CHECK_THAT(
        complaint(scenario_text(one_machine, flash, R"("layout": {"recompute_scores": true})")),
        Catch::StartsWith("ukemi: s.json: at /job/layout: flash attention keeps no scores"));
    const Ran unknown = run_ukemi(scratch.path(), {"simulate", "s.json", "--search", "batches"});
    CHECK(unknown.code == 2);
}

}  // namespace ukemi
