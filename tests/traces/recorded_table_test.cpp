// recorded_table_test.cpp — every file of the recorded data: read by the form it is, or named with
// the reason why it is no market record. A file that no line knows fails the test.
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <string_view>

#include "base/input_error.hpp"
#include "tests/traces/recorded_series.hpp"

using namespace ukemi;
using namespace ukemi::traces;
using namespace ukemi::test;

namespace {

struct Line {
    std::string_view beginning;  // of the path below the data folder
    std::string_view part;       // somewhere in it, or empty
    std::string_view form;       // empty: not a market record
    std::string_view reason;     // then, why not
};

// The first that fits.
constexpr std::array lines{
    Line{"", "LICENSE", "", "a licence"},
    Line{"", "NOTICE", "", "a licence"},
    Line{"", "README", "", "a description"},
    Line{"normalized/manifest.csv", "", "", "describes the series in the common form"},
    Line{"reference/", "", "", "what other programs computed"},
    Line{"normalized/avail/", "", "plain_availability", ""},
    Line{"normalized/price/", "", "plain_price", ""},
    Line{"aws_gpu_ondemand/", ".csv", "price_list_csv", ""},
    Line{"aws_gpu_ondemand/", ".json", "price_list_json", ""},
    Line{"aws_spot_2015_g2/", "", "stamped_price_csv", ""},
    Line{"aws_spot_2016_g2_8x/", "", "aws_price_history_csv", ""},
    Line{"aws_spot_2021/", "", "aws_price_history_csv", ""},
    Line{"aws_spot_advisor/", "", "aws_spot_advisor_json", ""},
    Line{"bamboo/aws_2020_doc/", "tta-curves", "", "accuracy over time of a training run"},
    Line{"bamboo/aws_2020_doc/", "", "bamboo_step_list", ""},
    Line{"bamboo/gcloud/", "", "bamboo_counts", ""},
    Line{"bamboo/", "-trace.csv", "bamboo_events", ""},
    Line{"goog_preemption/", "", "lifetimes_csv", ""},
    Line{"gpu_price_tracker/", "", "gpu_price_tracker_jsonl", ""},
    Line{"parcae/p3.csv", "", "bamboo_step_list", ""},
    Line{"parcae/p3trace.csv", "", "bamboo_events", ""},
    Line{"parcae/liveput_res/", "", "parcae_intervals_json", ""},
    Line{"parcae/", "/trace_", "parcae_segment_txt", ""},
    Line{"parcae/profile_costs.json", "", "", "throughput and restart costs, not a market"},
    Line{"skynomad/aws_egress_pricing.csv", "", "", "prices of network traffic, not of instances"},
    Line{"skynomad/gcp/", "", "gcp_list_price_json", ""},
    Line{"skynomad/h100_gcp_16node/raw_sample/", "", "skynomad_probe_round_json", ""},
    Line{"skynomad/h100_gcp_16node/", "", "skynomad_probe_counts", ""},
    Line{"skynomad/v100_aws_1node_avail/", "", "skynomad_csv", ""},
    Line{"skynomad/v100_aws_1node_prices/", "summary", "", "means of prices, not their history"},
    Line{"skynomad/v100_aws_1node_prices/", "", "skynomad_prices_json", ""},
    Line{"skynomad/v100_aws_multinode/", "", "skypilot_json", ""},
    Line{"skypilot_spot_strategy/", "", "skypilot_strategy_txt", ""},
    Line{"skypilot_spot_traces/", "", "skypilot_json", ""},
    Line{"spothedge/", "", "skypilot_json", ""},
    Line{"training_on_a_dime/aws/cost/", "", "aws_price_history_json", ""},
    Line{"training_on_a_dime/azure/cost/", "", "azure_daily_prices_csv", ""},
    Line{"training_on_a_dime/azure/", "mapping", "", "which GPUs an instance type has"},
    Line{"training_on_a_dime/", "/availability/", "survival_log", ""},
    Line{"training_on_a_dime/", "spin_up", "launch_log", ""},
    Line{"training_on_a_dime/notebooks/", "", "", "throughputs of training"},
    Line{"alibaba/", "", "", "step times, pods and nodes: no prices and no capacity over time"},
    Line{"elasticflow", "", "", "throughputs and job arrivals"},
    Line{"gavel/", "", "", "throughputs and job arrivals"},
    Line{"digits/", "", "", "training data"},
    Line{"markets/", "", "skypilot_json", ""},
    Line{"ml_", "", "", "training data"},
    Line{"mlperf_rcp/", "", "", "convergence of training"},
    Line{"nccl_bench/", "", "", "speed of collectives"},
    Line{"nvidia_dle_perf/", "", "", "throughputs of training"},
    Line{"pollux/", "", "", "throughputs, statistical efficiency and job arrivals"},
    Line{"reconfig_costs/", "", "", "costs of reconfiguration"},
    Line{"sia/", "", "", "throughputs and job arrivals"},
    Line{"vtrain_nccl/", "", "", "speed of collectives"},
    Line{"wikitext", "", "", "training data"},
    Line{"zeus/", "", "", "convergence and power of training"},
};

const Line* line_for(const std::string& path) {
    for (const Line& line : lines) {
        if (path.starts_with(line.beginning) && path.find(line.part) != std::string::npos) {
            return &line;
        }
    }
    return nullptr;
}

// Prices without times need their interval.
ReadOptions options_for(std::string_view form) {
    ReadOptions options;
    if (form == "skynomad_prices_json") options.gap = whole_seconds(195);
    return options;
}

}  // namespace

TEST_CASE("recorded: every file is read by its form, or named with the reason why not",
          "[traces][recorded]") {
    NEEDS_RECORDED_DATA(data, "normalized");
    std::map<std::string_view, int> read;
    for (const auto& entry : fs::recursive_directory_iterator(data)) {
        if (!entry.is_regular_file()) continue;
        const std::string path = fs::relative(entry.path(), data).string();
        CAPTURE(path);
        const Line* line = line_for(path);
        if (line == nullptr) FAIL_CHECK("no line of the table knows this file");
        if (line == nullptr || line->form.empty()) continue;
        try {
            const Trace trace = read_record(entry.path(), options_for(line->form));
            CHECK(trace.report.form == line->form);  // found by its content alone
            CHECK(trace.report.rows > 0);
            ++read[line->form];
        } catch (const InputError& error) {
            FAIL_CHECK(error.what());
        }
    }
    for (const auto& [form, files] : read) UNSCOPED_INFO(form << ": " << files << " files");
    CHECK(read.size() >= 19);
}

TEST_CASE("recorded: what is no market record is refused and not guessed at",
          "[traces][recorded]") {
    NEEDS_RECORDED_DATA(data, "normalized");
    int refused = 0;
    for (const auto& entry : fs::recursive_directory_iterator(data)) {
        const std::string path = fs::relative(entry.path(), data).string();
        const Line* line = entry.is_regular_file() ? line_for(path) : nullptr;
        if (line == nullptr || !line->form.empty() || path.find("manifest") == 0) continue;
        CAPTURE(path, line->reason);
        CHECK_THROWS_AS(read_trace(entry.path()), InputError);
        ++refused;
    }
    CHECK(refused > (whole_recorded_data() ? 100 : 30));
}
