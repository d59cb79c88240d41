// published_layouts_bench.cpp — steps of large models in layouts that were published, beside the
// simulator's; and how near each published layout is to the fastest that the search finds.
//
// Nothing is fitted to these rows, and they were looked at only after the model stood. Inputs are
// what is public: shapes, layouts, DGX A100 with 80 GB a GPU and eight 200 Gbit/s NICs (Selene),
// half precision, NCCL's times as the simulator has them. Sources:
//   SC'21     Narayanan et al., SC 2021, table 1 (TFLOP/s a GPU) with the micro-batches and chunks
//   of
//             github NVIDIA/Megatron-LM, examples/sc21/run_table_1.sh; the FLOP of its equation 3
//   ZeRO-3    the same paper, table 2: DeepSpeed's stage 3 without model parallelism
//   MT-NLG    Smith et al. 2022, section 2.4: 280, 350 and 420 machines
//   MLSys'23  Korthikanti et al. 2022, table 5: all computed again, and in its place sequence
//             parallelism with scores computed again
//   NVIDIA    fp8, tokens a second of a GPU: github NVIDIA-NeMo/Megatron-Bridge (docs/performance-
//             summary-archive.md: containers 25.09, 25.11, 26.02; with 8-bit scales of a matrix,
//             CS, and of 32 values, MX) and github NVIDIA/NeMo (docs, performance summary
//             of 24.07). Rows with activations in the host's memory are left out. Attention by the
//             cuDNN of the container. That Blackwell's products are slower than the best known was
//             looked up when these rows had come out 20 % too fast, and is measured elsewhere
//             (sim/cluster/kernel_time.cpp)
// The naive guess is one share of the peak for all, ResNet-50's, and the pipeline's bubble;
// of NVIDIA's rows 0.40 of the peak.
// Usage: bench_published_layouts [all] [--csv FILE]; all: the search on the large clusters, too.
#include <fmt/format.h>

#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/layout_search.hpp"
#include "bench/published_rows.hpp"

namespace {

using namespace ukemi;
using namespace published;

struct Layout {
    const char* name;
    int layers, hidden, heads, gpus, batch, micro, tensor, pipeline, chunks;
    const char* more;  // of "layout"
    double published;  // TFLOP/s a GPU, or seconds where below is_seconds

    int data() const { return gpus / tensor / pipeline; }
    int micro_batches() const { return batch / data() / micro; }
    bool again() const {
        return std::string(more).find("\"recompute\": true") != std::string::npos;
    }
};

constexpr const char* again = R"("recompute": true)";
constexpr const char* zero3 = R"("recompute": true, "shard": "parameters")";
constexpr const char* selective = R"("sequence_parallel": true, "recompute_scores": true)";

constexpr Layout sc21[] = {
    {"1.7 B", 24, 2304, 24, 32, 512, 16, 1, 1, 1, again, 137},
    {"3.6 B", 30, 3072, 32, 64, 512, 16, 2, 1, 1, again, 138},
    {"7.5 B", 36, 4096, 32, 128, 512, 16, 4, 1, 1, again, 142},
    {"18.4 B", 40, 6144, 48, 256, 1024, 8, 8, 1, 1, again, 135},
    {"39.1 B", 48, 8192, 64, 512, 1536, 4, 8, 2, 1, again, 138},
    {"76.1 B", 60, 10240, 80, 1024, 1792, 2, 8, 4, 3, again, 140},
    {"145.6 B", 80, 12288, 96, 1536, 2304, 2, 8, 8, 2, again, 148},
    {"310.1 B", 96, 16384, 128, 1920, 2160, 1, 8, 16, 2, again, 155},
    {"529.6 B", 105, 20480, 128, 2520, 2520, 1, 8, 35, 3, again, 163},
    {"1008.0 B", 128, 25600, 160, 3072, 3072, 1, 8, 64, 1, again, 163},
};
constexpr Layout divided[] = {
    {"174.6 B on 384", 96, 12288, 96, 384, 1536, 4, 1, 1, 1, zero3, 144},
    {"174.6 B on 768", 96, 12288, 96, 768, 1536, 2, 1, 1, 1, zero3, 88},
    {"174.6 B on 1536", 96, 12288, 96, 1536, 1536, 1, 1, 1, 1, zero3, 44},
    {"529.6 B on 640", 105, 20480, 128, 640, 2560, 4, 1, 1, 1, zero3, 138},
    {"529.6 B on 1120", 105, 20480, 128, 1120, 2240, 2, 1, 1, 1, zero3, 98},
    {"529.6 B on 2240", 105, 20480, 128, 2240, 2240, 1, 1, 1, 1, zero3, 48},
};
constexpr Layout mt_nlg[] = {
    {"280 machines", 105, 20480, 128, 2240, 1920, 1, 8, 35, 1, again, 60.1},
    {"350 machines", 105, 20480, 128, 2800, 1920, 1, 8, 35, 1, again, 50.2},
    {"420 machines", 105, 20480, 128, 3360, 1920, 1, 8, 35, 1, again, 44.4},
};
constexpr Layout mlsys23[] = {
    {"22 B, all again", 48, 6144, 64, 8, 4, 4, 8, 1, 1, again, 1.42},
    {"22 B, sequence parallel", 48, 6144, 64, 8, 4, 4, 8, 1, 1, selective, 1.10},
    {"175 B, all again", 96, 12288, 96, 64, 64, 1, 8, 8, 3, again, 18.13},
    {"175 B, sequence parallel", 96, 12288, 96, 64, 64, 1, 8, 8, 3, selective, 13.75},
    {"530 B, all again", 105, 20480, 128, 280, 280, 1, 8, 35, 3, again, 49.05},
    {"530 B, sequence parallel", 105, 20480, 128, 280, 280, 1, 8, 35, 3, selective, 37.83},
    {"1 T, all again", 128, 25600, 160, 512, 512, 1, 8, 64, 1, again, 94.42},
    {"1 T, sequence parallel", 128, 25600, 160, 512, 512, 1, 8, 64, 1, selective, 71.49},
};

constexpr const char* h100 = "dgx_h100";
constexpr const char* chosen = "chosen after seeing";
constexpr const char* predicted = "predicted";

struct Sizes {
    int layers, hidden, heads, kv_heads, feed_forward;
    bool gated;
    int vocabulary, sequence;

    bool is_gpt() const { return vocabulary == 51200; }  // else rotated, and embeddings not tied
};
constexpr Sizes llama_8b = {32, 4096, 32, 8, 14336, true, 128256, 8192};
constexpr Sizes llama_70b = {80, 8192, 64, 8, 28672, true, 128256, 8192};
constexpr Sizes llama_405b = {126, 16384, 128, 8, 53248, true, 128256, 8192};
constexpr Sizes llama_2_7b = {32, 4096, 32, 32, 11008, true, 32000, 4096};
constexpr Sizes llama_2_13b = {40, 5120, 40, 40, 13824, true, 32000, 4096};
constexpr Sizes llama_2_70b = {80, 8192, 64, 8, 28672, true, 32000, 4096};
constexpr Sizes gpt_5b = {24, 4096, 32, 32, 16384, false, 51200, 2048};
constexpr Sizes gpt_20b = {44, 6144, 48, 48, 24576, false, 51200, 2048};
constexpr Sizes gpt_175b = {96, 12288, 96, 96, 49152, false, 51200, 2048};
constexpr Sizes nemotron_8b = {32, 4096, 32, 32, 16384, false, 256000, 4096};
constexpr Sizes nemotron_22b = {40, 6144, 48, 48, 24576, false, 256000, 4096};
constexpr Sizes nemotron_340b = {96, 18432, 96, 8, 73728, false, 256000, 4096};

constexpr const char* b200 = "dgx_b200";
constexpr const char* gb200 = "gb200_nvl72";
constexpr const char* cudnn_of_25_09 = R"("attention": "cudnn_9_13")";
constexpr const char* cudnn_of_25_11 = R"("attention": "cudnn_9_17")";

struct Nvidia {
    const char* name;
    std::string_view machine;
    const char* attention;
    const Sizes& model;
    int gpus, batch, micro, tensor, pipeline, context, chunks;
    double tokens_a_second;  // of a GPU
    bool fsdp = false;

    const char* role() const { return machine == h100 ? predicted : chosen; }
    int data() const { return gpus / tensor / pipeline / context; }
};
constexpr Nvidia nvidia[] = {
    {"8 B, 8 B200, CS, 25.11", b200, cudnn_of_25_11, llama_8b, 8, 128, 2, 1, 1, 1, 1, 30624},
    {"8 B, 8 B200, MX, 25.11", b200, cudnn_of_25_11, llama_8b, 8, 128, 2, 1, 1, 1, 1, 29521},
    {"405 B, 128 B200, CS, 25.11", b200, cudnn_of_25_11, llama_405b, 128, 64, 1, 4, 8, 2, 8, 661},
    {"405 B, 128 B200, MX, 25.11", b200, cudnn_of_25_11, llama_405b, 128, 64, 1, 4, 8, 2, 8, 624},
    {"8 B, 8 GB200, CS, 25.11", gb200, cudnn_of_25_11, llama_8b, 8, 128, 2, 1, 1, 1, 1, 31508},
    {"8 B, 8 GB200, MX, 25.11", gb200, cudnn_of_25_11, llama_8b, 8, 128, 2, 1, 1, 1, 1, 29789},
    {"70 B, 64 GB200, MX, 25.09", gb200, cudnn_of_25_09, llama_70b, 64, 128, 1, 2, 4, 1, 5, 3546},
    {"70 B, 64 GB200, MX, 26.02", gb200, cudnn_of_25_11, llama_70b, 64, 256, 1, 2, 4, 1, 5, 3613},
    {"405 B, 128 GB200, MX, 25.09", gb200, cudnn_of_25_09, llama_405b, 128, 64, 1, 4, 8, 2, 8, 578},
    {"405 B, 256 GB200, CS, 25.11", gb200, cudnn_of_25_11, llama_405b, 256, 1536, 1, 4, 16, 1, 4,
     813},
    {"8 B, FSDP on 8 H100, 25.11", h100, "", llama_8b, 8, 128, 1, 1, 1, 1, 1, 14451, true},
    {"70 B, 64 H100, 25.11", h100, "", llama_70b, 64, 128, 1, 4, 8, 1, 5, 1602},
    {"70 B, 64 H100, 26.02", h100, "", llama_70b, 64, 256, 1, 4, 8, 1, 5, 1621},
    {"405 B, 1024 H100, 25.11", h100, "", llama_405b, 1024, 512, 1, 8, 8, 2, 8, 292},
    {"405 B, 1024 H100, 26.02", h100, "", llama_405b, 1024, 1536, 1, 8, 8, 2, 8, 311},
    {"GPT-3 5 B, 64 H100, 24.07", h100, "", gpt_5b, 64, 2048, 4, 1, 1, 1, 1, 23574},
    {"GPT-3 20 B, 64 H100", h100, "", gpt_20b, 64, 256, 2, 2, 1, 1, 1, 5894},
    {"GPT-3 175 B, 128 H100", h100, "", gpt_175b, 128, 256, 1, 4, 8, 1, 6, 745},
    {"GPT-3 175 B, 512 H100", h100, "", gpt_175b, 512, 2048, 2, 4, 8, 1, 6, 832},
    {"Llama 2 7 B, 8 H100", h100, "", llama_2_7b, 8, 128, 1, 1, 1, 1, 1, 16634},
    {"Llama 2 13 B, 16 H100", h100, "", llama_2_13b, 16, 128, 1, 1, 4, 1, 10, 8715},
    {"Llama 2 70 B, 64 H100", h100, "", llama_2_70b, 64, 128, 1, 4, 4, 1, 20, 1717},
    {"Nemotron 8 B, 64 H100", h100, "", nemotron_8b, 64, 256, 4, 2, 1, 1, 1, 12507},
    {"Nemotron 22 B, 64 H100", h100, "", nemotron_22b, 64, 256, 2, 2, 4, 1, 10, 4289},
    {"Nemotron 340 B, 128 H100", h100, "", nemotron_340b, 128, 32, 1, 8, 8, 1, 12, 328},
    {"Llama 3 8 B, 8 H100", h100, "", llama_8b, 8, 128, 1, 1, 1, 2, 1, 11883},
    {"Llama 3 70 B, 64 H100", h100, "", llama_70b, 64, 128, 1, 4, 4, 2, 5, 1549},
};

std::string schedule_of(int chunks) {
    return chunks > 1 ? fmt::format(R"(, "schedule": "interleaved", "chunks": {})", chunks) : "";
}

analysis::StepDocument document_of(const Layout& one) {
    return {"published.json",
            fmt::format(
                R"({{"name": "published", "seed": 1,
                     "cluster": {{"machine": "dgx_a100_80gb", "count": {}}},
                     "job": {{"model": {{"kind": "transformer", "layers": {}, "hidden": {},
                                         "heads": {}, "vocabulary": 51200, "sequence": 2048}},
                              "workers": {}, "batch": {}, "accumulation": {}, "precision": "bf16",
                              "optimiser_state": "adam", "compute": {{"kernels": {{}}}},
                              "layout": {{"tensor": {}, "pipeline": {}, "data": {}, {}{}}},
                              "buckets": {{"rule": "one"}}, "collective": "nccl", "steps": 1}}}})",
                (one.gpus + 7) / 8, one.layers, one.hidden, one.heads, one.gpus, one.micro,
                one.micro_batches(), one.tensor, one.pipeline, one.data(), one.more,
                schedule_of(one.chunks)),
            {}};
}

double simulated_s(const analysis::StepDocument& document, const char* name) {
    std::vector<scenarios::StepScenario> all;
    // Even where it would be refused: DeepSpeed gathers less than a block at once.
    all.push_back(scenarios::step_scenario_from_text(document.text, document.file, {},
                                                     scenarios::MemoryCheck::skip));
    const scenarios::StepJobEntry& entry = all.front().jobs.front();
    const Bytes over = entry.memory.need.total() - entry.gpu_memory;
    if (over > Bytes{}) fmt::print("{}: needs {} bytes more than there are\n", name, over.raw());
    return analysis::simulate_steps(std::move(all), 0).front().jobs.front().step_s.mean;
}

// Equation 3 of SC'21: 96 B s l h² (1 + s/6h + V/16lh), of which three quarters where nothing is
// computed again.
double flops(const Layout& one, bool with_recomputation) {
    const double h = one.hidden;
    const double l = one.layers;
    constexpr double s = 2048;
    const double whole =
        96.0 * one.batch * s * l * h * h * (1 + s / (6 * h) + 51200 / (16 * l * h));
    return with_recomputation ? whole : 0.75 * whole;
}

analysis::StepDocument document_of(const Nvidia& one, bool overlapped) {
    const Sizes& model = one.model;
    const int each = one.machine == gb200 ? 72 : 8;
    return {"published.json",
            fmt::format(
                R"({{"name": "published", "seed": 1,
                     "cluster": {{"machine": "{}", "count": {}}},
                     "job": {{"model": {{"kind": "transformer", "layers": {}, "hidden": {},
                                         "heads": {}, "kv_heads": {}, "feed_forward": {},
                                         "gated": {}, "vocabulary": {}, "sequence": {},
                                         "positions": {}, "tied_embedding": {},
                                         "flash_attention": true}},
                              "workers": {}, "batch": {}, "accumulation": {}, "precision": "fp8",
                              "optimiser_state": "adam", "compute": {{"kernels": {{{}}}}},
                              "layout": {{"tensor": {}, "pipeline": {}, "data": {},
                                          "context": {}, "shard": "{}", "sequence_parallel": {},
                                          "overlap_tensor": {}{}}},
                              "collective": "nccl", "steps": 1}}}})",
                one.machine, (one.gpus + each - 1) / each, model.layers, model.hidden, model.heads,
                model.kv_heads, model.feed_forward, model.gated, model.vocabulary, model.sequence,
                model.is_gpt() ? model.sequence : 0, model.is_gpt(), one.gpus, one.micro,
                one.batch / one.data() / one.micro, one.attention, one.tensor, one.pipeline,
                one.data(), one.context, one.fsdp ? "parameters" : "optimiser", one.tensor > 1,
                overlapped && one.tensor > 1, schedule_of(one.chunks)),
            {}};
}

std::vector<Row> rows_of(std::span<const Nvidia> all, bool overlapped) {
    std::vector<Row> rows;
    for (const Nvidia& one : all) {
        const Sizes& model = one.model;
        const double h = model.hidden;
        const double l = model.layers;
        const double tokens = 1.0 * one.batch * model.sequence / one.gpus;  // of a GPU
        const double block = 2 * h * h * (1 + 1.0 * model.kv_heads / model.heads) +
                             (model.gated ? 3 : 2) * h * model.feed_forward;
        const double flops = 6 * (l * block + model.vocabulary * h) + 12 * l * h * model.sequence;
        const double peak = one.machine == h100 ? 1979e12 : one.machine == b200 ? 4500e12 : 5000e12;
        rows.push_back({one.name, tokens / one.tokens_a_second,
                        simulated_s(document_of(one, overlapped), one.name), one.role(),
                        tokens * flops / (0.40 * peak)});
    }
    return rows;
}

double naive_s(const Layout& one) {
    constexpr double reached = 0.272 * 312e12;  // ResNet-50 on A100, known_curves.cpp
    const double bubble = 1 + (one.pipeline - 1.0) / one.micro_batches() / one.chunks;
    return flops(one, one.again()) / one.gpus / reached * bubble;
}

std::vector<Row> rows_of(std::span<const Layout> layouts, bool is_seconds) {
    std::vector<Row> rows;
    for (const Layout& one : layouts) {
        const double published_s =
            is_seconds ? one.published : flops(one, true) / one.gpus / (one.published * 1e12);
        rows.push_back({one.name, published_s, simulated_s(document_of(one), one.name), predicted,
                        naive_s(one)});
    }
    return rows;
}

void print_search(std::span<const Layout> layouts, std::span<const Row> rows) {
    fmt::print(
        "\nthe fastest layout of the same model, GPUs and samples, which keeps all or "
        "computes blocks again\n  {:<18}{:>10}{:>10}{:>9}{:>7}{:>10}{:>6}  fastest\n",
        "", "published", "fastest", "slower", "rank", "simulated", "of");
    for (std::size_t i = 0; i < layouts.size(); ++i) {
        const analysis::LayoutSearch found =
            analysis::search_layouts(document_of(layouts[i]), {}, 5);
        const analysis::TriedLayout& best = found.layouts.front();
        // At least: those that were not simulated are slower than the fifth.
        const auto before = std::ranges::count_if(found.layouts, [&](const auto& layout) {
            return layout.step_s && *layout.step_s < rows[i].simulated;
        });
        fmt::print("  {:<18}{:>9.3f}s{:>9.3f}s{:>+8.1f}%{:>7}{:>10}{:>6}  {}, batch {}\n",
                   layouts[i].name, rows[i].simulated, *best.step_s,
                   100 * (rows[i].simulated / *best.step_s - 1), before + 1,
                   found.count(analysis::was_simulated), found.layouts.size(),
                   analysis::words_of(best.request), best.request.batch);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const Options options = read_options(argc, argv);
    Tables tables;
    const char* naive = "one share of the peak for all, and the bubble";
    const auto add = [&](const char* title, const char* table, std::span<const Layout> layouts,
                         bool is_seconds) {
        const std::vector<Row> rows = rows_of(layouts, is_seconds);
        tables.add(title, table, rows, true, naive);
        return rows;
    };
    const auto first =
        add("Megatron-LM, SC'21, table 1: step times in s, from TFLOP/s", "sc21", sc21, false);
    add("ZeRO-3, SC'21, table 2: step times in s, from TFLOP/s", "zero3", divided, false);
    const auto nlg = add("MT-NLG 530B: step times in s", "mt_nlg", mt_nlg, true);
    add("Sequence parallelism, MLSys'23, table 5: step times in s", "mlsys23", mlsys23, true);
    tables.add("NVIDIA's Megatron Bridge and NeMo, fp8: step times in s", "nvidia",
               rows_of(nvidia, false), true, "0.40 of the peak");
    tables.add("the same, tensor groups sending beside products, as their recipes ask",
               "nvidia_overlapped", rows_of(nvidia, true), true, "0.40 of the peak");
    const std::size_t searched = options.all ? first.size() : 4;
    print_search(std::span(sc21).first(searched), std::span(first).first(searched));
    if (options.all) print_search(mt_nlg, nlg);
    if (options.csv) tables.write_csv(*options.csv);
    return EXIT_SUCCESS;
}
