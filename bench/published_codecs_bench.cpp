// published_codecs_bench.cpp — what compressing gradients costs and gains, as others measured it,
// beside the simulator's.
//
// What a codec takes on a GPU is counted in kernels (sim/step/codec_kernels.hpp), whose constants
// were measured elsewhere; nothing is fitted to these rows. The published numbers are as remembered
// and could not be read again: table 2 of arXiv:2103.00543 (ResNet-50 on V100; encoding and
// decoding, here of the four GPUs of one machine), the step times of arXiv:1905.13727 (ResNet-18 on
// CIFAR-10, 16 GPUs in eight machines behind 10 Gbit/s), and that compression paid in 6 of more
// than 200 set-ups of the former (its abstract, which was read). Those set-ups are not listed
// anywhere; the 270 here are made after its public code (github
// uw-mad-dash/GradCompressionUtility): ResNet-50 and 101 on p3.8xlarge, BERT-base on eight GPUs a
// machine (p3.16xlarge assumed), three batches, 8 to 96 GPUs, PowerSGD 4, 8, 16, top-k 1 % and 10
// %, signs. Beside them stand those that its program lists for both ResNets, but for its
// approximate top-k, which is not here: codecs after the backward pass, as one message, and as
// hooks of PyTorch's buckets. Usage: bench_published_codecs [all] [--csv FILE]   (all: every
// set-up)
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/parallel_for.hpp"
#include "bench/published_rows.hpp"
#include "scenarios/reader/step_scenario.hpp"
#include "sim/step/step_run.hpp"

namespace {

using namespace ukemi;
using namespace published;

scenarios::StepScenario scenario_of(const std::string& cluster, const std::string& job,
                                    double network_share = 0) {
    const std::string efficiency =
        network_share == 0 ? ""
                           : fmt::format(R"("efficiency": {{"network": {}}}, )", network_share);
    return scenarios::step_scenario_from_text(
        fmt::format(R"({{"name": "codecs", "seed": 1, {}"cluster": {}, "job": {{{}}}}})",
                    efficiency, cluster, job),
        "codecs.json");
}

double step_s(const scenarios::StepScenario& scenario) {
    sim::StepOptions options;
    options.network = scenario.network;
    const auto result = sim::run_steps(scenario.topology, std::span(&scenario.jobs[0].job, 1),
                                       scenario.cross_traffic, options);
    const sim::StepRecord& step = result.front().steps.back();
    return to_seconds(step.end - step.begin);
}

// Before kernels were counted: an operation moves a value through 3/4 of the memory's rate.
constexpr std::string_view operations_on_v100 =
    R"(, "codec_rates": {"encode": "1.6875e11 operations/s",
                         "decode": "1.6875e11 operations/s"})";

// ---- table 2 of arXiv:2103.00543 --------------------------------------------------------------

double coding_ms(std::string_view codec, std::string_view more) {
    const auto scenario =
        scenario_of(R"({"machine": "p3.8xlarge", "count": 1})",
                    fmt::format(R"("model": "resnet50", "batch": 64, "steps": 1, "codec": "{}",
                                   "buckets": {{"rule": "one"}}{})",
                                codec, more));
    const sim::CodedBytes& coded = scenario.jobs[0].coded;
    return 1e3 * to_seconds(coded.encode + coded.decode);
}

void compare_coding(Tables& tables) {
    constexpr std::pair<const char*, double> published_ms[] = {
        {"power_sgd:4", 45}, {"power_sgd:8", 64}, {"power_sgd:16", 130}, {"top_k:0.01", 240}};
    std::vector<Row> rows;
    for (const auto& [codec, value] : published_ms) {
        rows.push_back({fmt::format("ResNet-50 on V100, {}", codec), value, coding_ms(codec, ""),
                        "predicted", coding_ms(codec, operations_on_v100)});
    }
    tables.add("Encoding and decoding in ms (arXiv:2103.00543, table 2, as remembered)", "coding",
               rows, true, "operations ÷ 3/4 of the memory's rate, as before kernels were counted");
}

// ---- step times of arXiv:1905.13727 -----------------------------------------------------------

// Links reach 0.7 of 10 Gbit/s, as between p3.2xlarge (link_reach.cpp); nothing is sent before the
// backward pass has ended, as in their program.
scenarios::StepScenario small_resnet(std::string_view codec, double compute_ms) {
    return scenario_of(
        R"({"machine": "titan_x_pair", "count": 8})",
        fmt::format(R"("model": "resnet18_cifar", "batch": 128, "steps": 1, "collective": "ring",
                       "compute": {{"table": {{"128": "{} ms"}}}}, "codec": "{}",
                       "buckets": {{"rule": "one"}})",
                    compute_ms, codec),
        0.7);
}

void compare_steps(Tables& tables) {
    constexpr double sgd_ms = 312;
    const double alone_ms = 1;
    const double sent_ms = 1e3 * step_s(small_resnet("none", alone_ms)) - alone_ms;
    const double compute_ms = sgd_ms - sent_ms;
    struct Line {
        const char* name;
        const char* codec;
        double ms;
        const char* role;
    };
    // Shares of top-k and random-k: as many bytes as PowerSGD of rank 2.
    constexpr Line lines[] = {
        {"SGD", "none", sgd_ms, "input"},
        {"PowerSGD, rank 1", "power_sgd:1", 229, "predicted"},
        {"PowerSGD, rank 2", "power_sgd:2", 239, "predicted"},
        {"PowerSGD, rank 4", "power_sgd:4", 260, "predicted"},
        {"random block (as random-k here)", "random_k:0.00736", 240, "predicted"},
        {"sign with norm", "scaled_sign", 429, "predicted"},
        {"top-k", "top_k:0.00368", 411, "predicted"},
        // Their program permutes every tensor's places on the host.
        {"random-k", "random_k:0.00736", 540, "of another machine"},
    };
    std::vector<Row> rows;
    for (const Line& line : lines) {
        const auto scenario = small_resnet(line.codec, compute_ms);
        const sim::CodedBytes& coded = scenario.jobs[0].coded;
        double naive_ms = sgd_ms;  // bytes alone
        if (coded.message > Bytes{}) {
            const double share = static_cast<double>(coded.message.raw()) /
                                 static_cast<double>(coded.gradient.raw());
            naive_ms = compute_ms + sent_ms * share * (coded.reduces ? 1 : 16.0 / 2);
        }
        rows.push_back({line.name, line.ms, 1e3 * step_s(scenario), line.role, naive_ms});
    }
    tables.add(fmt::format("ResNet-18 on 16 Titan X, step times in ms (arXiv:1905.13727, as "
                           "remembered); computing, {:.0f} ms, is what SGD's step leaves",
                           compute_ms),
               "PowerSGD", rows, true, "the same with bytes alone: coding takes no time");
}

// ---- verdicts ---------------------------------------------------------------------------------

constexpr std::string_view codecs[] = {"none",       "power_sgd:4", "power_sgd:8", "power_sgd:16",
                                       "top_k:0.01", "top_k:0.1",   "sign"};
constexpr int gpu_counts[] = {8, 16, 32, 64, 96};
struct Family {
    const char* model;
    const char* machine;
    int gpus;
    int batches[3];
};
constexpr Family families[] = {
    {"resnet50", "p3.8xlarge", 4, {16, 32, 64}},
    {"resnet101", "p3.8xlarge", 4, {16, 32, 64}},
    {"bert_base", "p3.16xlarge", 8, {16, 32, 48}},  // sequences of 128, for 4, 8 and 12 of 512
};

struct SetUp {
    const Family* family = nullptr;
    int batch = 0;
    int gpus = 0;
    std::string_view codec;
    double step_s = 0;
    bool pays = false;
};

std::vector<SetUp> all_set_ups() {
    std::vector<SetUp> all;
    for (const Family& family : families) {
        for (const int batch : family.batches) {
            for (const int gpus : gpu_counts) {
                for (const std::string_view codec : codecs) {
                    all.push_back({&family, batch, gpus, codec});
                }
            }
        }
    }
    return all;
}

// `more` of a job with a codec; of the links' rate, what is known of their kind, or a share of it.
// The first of each seven is that without.
std::vector<SetUp> judged(std::string_view more, double share = 0) {
    std::vector<SetUp> all = all_set_ups();
    parallel_for(all.size(), 2, [&](std::size_t i) {
        SetUp& one = all[i];
        one.step_s = step_s(scenario_of(
            fmt::format(R"({{"machine": "{}", "count": {}}})", one.family->machine,
                        one.gpus / one.family->gpus),
            fmt::format(R"("model": "{}", "batch": {}, "steps": 1, "codec": "{}"{})",
                        one.family->model, one.batch, one.codec, one.codec == "none" ? "" : more),
            share));
    });
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i].pays = all[i].step_s < all[i - i % std::size(codecs)].step_s;
    }
    return all;
}

// What main_ddp_final.py runs, on 8 to 96 GPUs of p3.8xlarge; a hook encodes bucket by bucket.
struct Listed {
    const char* model;
    const char* codec;
    std::vector<int> batches;
    bool hook;
};

const std::vector<Listed>& listed_set_ups() {
    static const std::vector<Listed> all = [] {
        std::vector<Listed> list = {
            {"resnet50", "power_sgd:4", {16, 64}, false},
            {"resnet50", "power_sgd:8", {16, 32}, false},
            {"resnet50", "power_sgd:16", {16, 32}, false},
            {"resnet101", "power_sgd:4", {16, 32, 64}, false},
            {"resnet101", "power_sgd:8", {16, 32}, false},
            {"resnet101", "power_sgd:16", {16}, false},
        };
        for (const char* model : {"resnet50", "resnet101"}) {
            for (const char* codec : {"sign", "top_k:0.2", "top_k:0.1", "top_k:0.01"}) {
                list.push_back({model, codec, {64}, false});
            }
            for (const char* codec : {"power_sgd:4", "power_sgd:8", "power_sgd:16", "sign",
                                      "top_k:0.1", "top_k:0.01", "top_k:0.001"}) {
                list.push_back({model, codec, {64}, true});
            }
        }
        return list;
    }();
    return all;
}

// Links at a share of their rate; 0: what is known of their kind.
void judge_listed(double share) {
    const auto step = [&](const char* model, int batch, int gpus, const char* codec, bool hook) {
        return step_s(scenario_of(
            fmt::format(R"({{"machine": "p3.8xlarge", "count": {}}})", gpus / 4),
            fmt::format(R"("model": "{}", "batch": {}, "steps": 1, "codec": "{}"{})", model, batch,
                        codec, hook ? "" : R"(, "buckets": {"rule": "one"})"),
            share));
    };
    int count = 0;
    int pay = 0;
    int pay_at_64 = 0;
    for (const Listed& listed : listed_set_ups()) {
        for (const int batch : listed.batches) {
            for (const int gpus : gpu_counts) {
                const bool pays = step(listed.model, batch, gpus, listed.codec, listed.hook) <
                                  step(listed.model, batch, gpus, "none", true);
                ++count;
                pay += pays ? 1 : 0;
                pay_at_64 += pays && batch == 64 ? 1 : 0;
            }
        }
    }
    fmt::print("  of the {} that the program lists{}: {}, {} of them at batch 64\n", count,
               share == 0 ? "" : fmt::format(", links at {} of their rate", share), pay, pay_at_64);
}

int paying(const std::vector<SetUp>& all, std::string_view codec, std::string_view model) {
    int sum = 0;
    for (const SetUp& one : all) {
        if (!codec.empty() && one.codec != codec) continue;
        if (!model.empty() && one.family->model != model) continue;
        sum += one.pays ? 1 : 0;
    }
    return sum;
}

void compare_verdicts(const Options& options, Tables& tables) {
    const std::vector<SetUp> before = judged(operations_on_v100);
    const std::vector<SetUp> now = judged("");
    const std::vector<SetUp> slower = judged("", 0.7);
    const auto count = static_cast<int>(now.size() - now.size() / std::size(codecs));
    fmt::print(
        "\nSet-ups in which compression pays, of {}: {}; with operations alone, as before: {}; "
        "with "
        "links at 0.7 of their rate: {}\n",
        count, paying(now, "", ""), paying(before, "", ""), paying(slower, "", ""));
    fmt::print("  {:<16}{:>12}{:>12}{:>12}{:>12}\n", "", "resnet50", "resnet101", "bert_base",
               "before");
    for (const std::string_view codec : std::span(codecs).subspan(1)) {
        fmt::print("  {:<16}", codec);
        for (const Family& family : families) {
            fmt::print("{:>12}", paying(now, codec, family.model));
        }
        fmt::print("{:>12}\n", paying(before, codec, ""));
    }
    int at_largest = 0;
    for (const SetUp& one : now) {
        at_largest += one.pays && one.batch == one.family->batches[2] ? 1 : 0;
    }
    fmt::print("  at the largest batches: {} of {}\n", at_largest, count / 3);
    judge_listed(0);
    judge_listed(1);
    if (options.all) {
        for (std::size_t i = 0; i < now.size(); ++i) {
            const SetUp& one = now[i];
            fmt::print("  {:<10} batch {:>2} on {:>2} {:<13}{:>9.1f} ms, before {:>9.1f}{}\n",
                       one.family->model, one.batch, one.gpus, one.codec, 1e3 * one.step_s,
                       1e3 * before[i].step_s, one.pays ? "  pays" : "");
        }
    }
    const double share = static_cast<double>(paying(now, "", "")) / count;
    const double share_before = static_cast<double>(paying(before, "", "")) / count;
    tables.add("Share of set-ups in which compression pays (arXiv:2103.00543: 6 of more than 200)",
               "verdicts", {{"all set-ups", 6.0 / 200, share, "of another machine", share_before}},
               true,
               "operations alone; the published set-ups are not these, which only resemble them");
}

}  // namespace

int main(int argc, char** argv) {
    const Options options = read_options(argc, argv);
    Tables tables;
    compare_coding(tables);
    compare_steps(tables);
    compare_verdicts(options, tables);
    if (options.csv) tables.write_csv(*options.csv);
    return EXIT_SUCCESS;
}
