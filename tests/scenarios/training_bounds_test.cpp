// training_bounds_test.cpp — what the reader of "training" accepts, a worker accepts: every number
// at both ends of its range, and lists of settings that only fail together.
#include <catch2/catch.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/input_error.hpp"
#include "base/rng.hpp"
#include "kernels/training_rules.hpp"
#include "tests/handwritten_digits.hpp"
#include "tests/scenarios/scenario_text.hpp"

namespace ukemi {

namespace {

using Catch::Matchers::Contains;
using nlohmann::json;

json bounds_document(const json& training) {
    return json{{"name", "bounds"},
                {"seed", 1},
                {"job",
                 {{"samples", 40960},
                  {"batch_per_worker", 32},
                  {"throughput", {{"1", "1000 samples/s"}}},
                  {"checkpoint", {{"cost", "1 s"}}}}},
                {"training", training},
                {"cluster", {{"count_min", 1}, {"count_max", 2}}},
                {"market", {{"spot_price", "1 USD/h"}, {"on_demand_price", "3 USD/h"}}},
                {"replay", {"spot_only"}}};
}

scenarios::Scenario read(const json& training) {
    return scenarios::scenario_from_text(bounds_document(training).dump(), "bounds.json");
}

// What a worker does with what it is told, up to the first step; the data only where they are few.
void as_a_worker(const scenarios::Scenario& scenario) {
    const kernels::TrainingSpec told =
        kernels::training_spec_from(kernels::training_spec_text(scenario.training.value()));
    const bool few = told.data.kind == "digits" || told.data.samples * told.data.features < 100'000;
    kernels::DataSet data;
    data.features = told.data.features;
    data.classes = told.data.classes;
    if (few) data = kernels::load_data(told.data);
    kernels::make_model(told.model, data);
    for (const int workers : {1, 2}) {
        CHECK(kernels::training_refusal(scenario.job.plan, workers).empty());
    }
}

struct Range {
    double least = 0;
    double most = 0;
};
// As the reader itself says it: «expected a number from 0 to 1, found 1e+300».
std::optional<Range> range_of(json training, const std::string& pointer) {
    const json::json_pointer at(pointer);
    const bool whole = training.at(at).is_number_integer();
    training[at] = whole ? json(-1'000'000'000'000'000) : json(-1e300);
    const std::string complaint = complaint_of([&] { read(training); });
    const std::size_t from = complaint.find(" from ");
    CHECK_THAT(complaint, Contains("at /training" + pointer + ": expected"));
    if (from == std::string::npos) return std::nullopt;
    Range range;
    if (std::sscanf(complaint.c_str() + from, " from %lf to %lf", &range.least, &range.most) != 2) {
        return std::nullopt;
    }
    return range;
}

// Every number that the section has, as the resolved scenario lists them.
std::vector<std::string> numbers_of(const json& node, const std::string& path = "") {
    std::vector<std::string> pointers;
    if (node.is_number()) return {path};
    if (node.is_array()) {
        for (std::size_t i = 0; i < node.size(); ++i) {
            for (std::string& one : numbers_of(node[i], path + "/" + std::to_string(i))) {
                pointers.push_back(std::move(one));
            }
        }
    }
    if (!node.is_object()) return pointers;
    for (const auto& [key, value] : node.items()) {
        for (std::string& one : numbers_of(value, path + "/" + key)) {
            pointers.push_back(std::move(one));
        }
    }
    return pointers;
}

json resolved(const json& training) { return json::parse(read(training).resolved).at("training"); }

const std::vector<json>& sections() {
    static const std::vector<json> all{
        json::parse(R"({"model": {"kind": "mlp", "hidden": [4, 4]},
                        "data": {"kind": "synthetic", "samples": 100, "features": 16,
                                 "classes": 3}})"),
        json::parse(R"({"model": {"kind": "cnn", "filters": 2}, "codec": "top_k",
                        "data": {"kind": "synthetic", "samples": 100, "features": 16}})"),
        json::parse(R"({"synchronisation": "synchronous_averaging", "learners": 2,
                        "data": {"kind": "synthetic", "samples": 100, "features": 16}})"),
        json{{"data", {{"kind", "digits"}, {"file", handwritten_digits_file().string()}}}}};
    return all;
}

}  // namespace

TEST_CASE("training bounds: a worker takes every number that the reader takes, at both ends",
          "[scenario][training_spec]") {
    std::size_t walked = 0;
    for (const json& section : sections()) {
        const json all = resolved(section);
        as_a_worker(read(all));
        for (const std::string& pointer : numbers_of(all)) {
            CAPTURE(pointer);
            const json::json_pointer at(pointer);
            const auto range = range_of(all, pointer);
            REQUIRE(range);
            for (const double value : {range->least, range->most}) {
                CAPTURE(value);
                json changed = all;
                changed[at] = all.at(at).is_number_integer()
                                  ? json(static_cast<std::int64_t>(value))
                                  : json(value);
                // A size may still be too much together with the others: then the reader says so.
                std::optional<scenarios::Scenario> taken;
                const std::string refused = complaint_of([&] { taken = read(changed); });
                if (taken) {
                    CHECK(complaint_of([&] { as_a_worker(*taken); }) == "(no complaint)");
                } else {
                    CHECK_THAT(refused, Contains("bounds.json: at /training"));
                }
                ++walked;
            }
        }
    }
    CHECK(walked >= 60);
}

TEST_CASE("training bounds: any settings that the reader takes, a worker takes",
          "[scenario][training_spec][property]") {
    RandomStream random(9, "training_bounds");
    std::size_t taken = 0;
    for (int trial = 0; trial < 400; ++trial) {
        json training = resolved(sections()[static_cast<std::size_t>(random.integer(0, 2))]);
        for (const std::string& pointer : numbers_of(training)) {
            const json::json_pointer at(pointer);
            if (random.chance(0.7)) continue;
            const double scale = std::array{
                0.01, 0.5, 1.0, 2.0, 16.0, 1e4}[static_cast<std::size_t>(random.integer(0, 5))];
            const auto more = static_cast<double>(random.integer(0, 2));
            const double value = training.at(at).get<double>() * scale + more;
            training[at] = training.at(at).is_number_integer()
                               ? json(static_cast<std::int64_t>(value))
                               : json(value);
        }
        CAPTURE(trial, training.dump());
        std::optional<scenarios::Scenario> scenario;
        complaint_of([&] { scenario = read(training); });
        if (!scenario) continue;
        ++taken;
        CHECK(complaint_of([&] { as_a_worker(*scenario); }) == "(no complaint)");
    }
    CHECK(taken >= 40);
}

TEST_CASE("training bounds: what no worker could do is refused where it is read",
          "[scenario][training_spec]") {
    const auto complaint = [](std::string_view training) {
        return complaint_of([&] { read(json::parse(training)); });
    };
    CHECK(
        complaint(R"({"optimiser": {"weight_decay": 2}})") ==
        "bounds.json: at /training/optimiser/weight_decay: expected a number from 0 to 1, found 2");
    CHECK_THAT(complaint(R"({"model": {"kind": "mlp", "hidden": []}})"),
               Contains("at /training/model: model: at /hidden: expected 1 to 16 hidden layers"));
    CHECK_THAT(complaint(R"({"model": {"kind": "mlp", "hidden": [65536, 65536]}})"),
               Contains("at /training/model: model: expected a model of at most 268435456"));
    CHECK_THAT(complaint(R"({"model": {"kind": "lenet5"}})"),
               Contains("at /training/model: model: at /kind: lenet5 needs square images"));
    CHECK_THAT(complaint(R"({"data": {"kind": "synthetic", "samples": 10000000,
                                      "features": 100000}})"),
               Contains("at /training/data/samples: expected at most 1073741824 values"));
    CHECK_THAT(complaint(R"({"data": {"kind": "digits"}})"),
               Contains("at /training/data/file: expected the file of the digits"));
    CHECK_THAT(complaint(R"({"data": {"kind": "idx", "images": "x"}})"),
               Contains("at /training/data/labels: expected both images and labels"));
}

}  // namespace ukemi
