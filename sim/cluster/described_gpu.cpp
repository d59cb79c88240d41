// described_gpu.cpp — the keys of a GPU of one's own.
#include "sim/cluster/described_gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/key_notes.hpp"

namespace ukemi::sim {
namespace {

constexpr double tflops_most = 1e6;
constexpr double gb_per_s_most = 1e6;

struct Owned {
    std::string name;
    GpuProfile profile;
};

void read_peaks(ConfigReader config, GpuProfile& gpu) {
    for (std::size_t i = 0; i < precision_names.size(); ++i) {
        if (!config.has(precision_names[i])) continue;
        if (gpu.peak_tflops[i] == 0 && KeyExplorer::of(config.file()) == nullptr) {
            config.fail(precision_names[i],
                        fmt::format("{}, which it is like, has none: what kernels reach of it is "
                                    "not known. Expected a \"like\" that has",
                                    gpu.like));
        }
        gpu.peak_tflops[i] = config.number(precision_names[i], 1e-3, tflops_most);
    }
    config.finish();
}

}  // namespace

std::shared_ptr<const GpuProfile> read_described_gpu(ConfigReader config, const GpuProfile* usual) {
    const auto owned = std::make_shared<Owned>();
    if (usual == nullptr || config.has("like")) {
        usual = &gpu_named(config.text("like"), config.place_of("like"));
    }
    GpuProfile& gpu = owned->profile;
    gpu = *usual;
    gpu.like = usual->name;
    gpu.source = "described";
    gpu.released = "";
    owned->name =
        config.has("name") ? config.text("name") : fmt::format("described_as_{}", usual->name);
    gpu.name = owned->name;
    const bool is_listed =
        std::ranges::find(all_gpus(), gpu.name, &GpuProfile::name) != all_gpus().end();
    if (gpu.name.empty() || is_listed) {
        config.fail("name", "expected a name that is not one of \"ukemi list gpus\"");
    }
    if (auto peaks = config.object_if_present("tflops")) read_peaks(std::move(*peaks), gpu);
    if (config.has("memory")) gpu.memory = config.bytes("memory");
    if (gpu.memory <= Bytes{}) config.fail("memory", "expected more than 0 bytes");
    if (config.has("memory_bandwidth")) {
        gpu.memory_gb_per_s = config.bandwidth("memory_bandwidth").raw() / 1e9;
        if (gpu.memory_gb_per_s > gb_per_s_most) {
            config.fail("memory_bandwidth", fmt::format("expected at most {} GB/s", gb_per_s_most));
        }
    }
    if (config.has("multiprocessors")) {
        gpu.multiprocessors = config.integer("multiprocessors", 1, 4096);
    }
    config.finish();
    return {owned, &gpu};
}

}  // namespace ukemi::sim
