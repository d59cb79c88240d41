// registry_rows_test.cpp — every row that `ukemi list` shows can be put into a scenario that ships,
// and changes what comes out of it. (Policies: tests/scenarios/shipped_test.cpp.)
#include <catch2/catch.hpp>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/child.hpp"

namespace ukemi {
namespace {

using nlohmann::json;

struct Registry {
    const char* name;
    const char* heading;  // the word that a line begins with which is no row
    const char* scenario;
    const char* key;
    std::vector<std::string> command;      // simulate, compare or replay, and what it needs besides
    std::set<std::string> elsewhere = {};  // rows that another scenario shows, or none can
    const char* figure = "";               // of a variant, that the rows change
    std::size_t distinct_at_least = 0;     // of such figures; 0: as many as rows
};

// Machines of one kind of GPU and NIC take equally long.
const std::vector<Registry> registries{
    {"codecs",
     "codec",
     "steps/resnet50_on_p3.json",
     "/job/codec",
     {"simulate", "--set", "/cluster/count=4"},
     {},
     "step_s"},
    // megatron_8b: steps/megatron_8b.json; it fits on no GPU alone.
    {"models",
     "model",
     "steps/resnet50_on_p3.json",
     "/job/model",
     {"simulate", "--set", "/cluster/count=1", "--set", "/job/batch=1", "--set",
      "/cluster/machine=\"p4d.24xlarge\""},
     {"megatron_8b"},
     "step_s"},
    // cpu_16_core has no GPUs: its wires are shown by `describe --topology`.
    {"machines",
     "machine",
     "steps/resnet50_on_p3.json",
     "/cluster/machine",
     {"simulate", "--set", "/cluster/count=2"},
     {"cpu_16_core"},
     "step_s",
     20},
    {"transitions",
     "role",
     "size/resize_costs.json",
     "/job/transition/system",
     {"compare", "--policies", "throughput_resize+on_demand"},
     {},
     "hours",
     10},
    {"markets",
     "market",
     "market/demo.json",
     "/market/generate/market",
     {"compare", "--policies", "greedy+daly", "--set", "/market/spot_price=\"0.9 USD/h\"", "--set",
      "/cluster/count_min=1", "--set", "/cluster/count_max=1", "--set", "/job/work=\"40 h\""},
     {},
     "cost_usd"}};

// The first words of the lines that begin with a name. Above them may stand a heading (its first
// column) and sentences.
std::vector<std::string> rows_of(const Registry& registry) {
    const Ran ran = run_ukemi(UKEMI_SOURCE_DIR, {"list", registry.name});
    REQUIRE(ran.code == 0);
    std::vector<std::string> rows;
    for (const std::string& line : lines_of(ran.out)) {
        const std::string word = line.substr(0, line.find(' '));
        const bool is_name = !word.empty() && (std::islower(static_cast<unsigned char>(word[0])) ||
                                               std::isdigit(static_cast<unsigned char>(word[0])));
        if (is_name && word != registry.heading) rows.push_back(word);
    }
    return rows;
}

double figure_of(const json& variant, std::string_view figure) {
    if (figure == "step_s") {
        const json& job = variant.at("jobs").at(0);
        return job.at("samples_per_step").get<double>() / job.at("samples_per_s").get<double>();
    }
    return variant.at(figure).at("mean").get<double>();
}

}  // namespace

TEST_CASE("registry rows: each changes what a scenario that ships comes to", "[cli][registry]") {
    for (const Registry& registry : registries) {
        CAPTURE(registry.name);
        std::string values;
        std::size_t rows = 0;
        for (const std::string& row : rows_of(registry)) {
            if (registry.elsewhere.contains(row)) continue;
            values += (rows++ == 0 ? "" : ",") + row;
        }
        REQUIRE(rows > 3);
        std::vector<std::string> arguments = registry.command;
        arguments.insert(arguments.begin() + 1, shipped(registry.scenario).string());
        arguments.insert(arguments.end(),
                         {"--vary", std::string(registry.key) + "=" + values, "--json"});
        const Ran ran = run_ukemi(UKEMI_SOURCE_DIR, arguments);
        INFO(ran.err);
        REQUIRE(ran.code == 0);
        const json document = json::parse(ran.out);
        const json& variants =
            document.contains("variants") ? document.at("variants") : document.at("candidates");
        REQUIRE(variants.size() == rows);
        std::set<double> distinct;
        for (const json& variant : variants) distinct.insert(figure_of(variant, registry.figure));
        const std::size_t least = registry.distinct_at_least;
        CHECK(distinct.size() >= (least == 0 ? rows : least));
    }
}

}  // namespace ukemi
