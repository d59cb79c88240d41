// layer_times.cpp — sums of kernels, layer by layer.
#include "sim/step/layer_times.hpp"

#include <algorithm>

#include "sim/cluster/layer_kernels.hpp"
#include "sim/step/model_pieces.hpp"

namespace ukemi::sim {

LayerTimes layer_times(const ModelProfile& model, const LayoutRequest& request,
                       const KernelClock& clock) {
    const KernelCut cut{request.batch,
                        request.degrees.tensor,
                        request.micro_batches > 1,
                        request.context,
                        request.sequence_parallel,
                        request.expert,
                        request.overlap_tensor ? request.degrees.tensor : 1,
                        request.whole_experts};
    LayerTimes times;
    const bool has_experts = model.transformer && model.transformer->experts > 1;
    for (const LayerCost& layer : model.layers) {
        LayerKernels kernels = layer_kernels(clock, model, layer, cut);
        if (cut.tensor > 1 && (is_attention(layer) || is_feed_forward(layer))) {
            ++kernels.forward.launches;  // the all-reduce
            ++kernels.backward.launches;
        }
        const auto pass = [&](const KernelSum& sum) {
            return LayerTimes::Pass{sum.device_s,
                                    static_cast<double>(sum.launches) * clock.launch_seconds()};
        };
        times.forward.push_back(pass(kernels.forward));
        times.backward.push_back(pass(kernels.backward));
        times.host_waits.push_back(has_experts && is_feed_forward(layer));
        times.scores.push_back(pass(kernels.scores));
        times.scores_back.push_back(pass(kernels.scores_back));
        times.weights.push_back(pass(kernels.weights));
        times.ends.push_back({pass(kernels.ends.first), pass(kernels.ends.last)});
        times.ends_back.push_back({pass(kernels.ends_back.first), pass(kernels.ends_back.last)});
        times.whole_s += kernels.forward.device_s + kernels.backward.device_s;
        times.shared_s += kernels.forward.shared_s + kernels.backward.shared_s;
    }
    return times;
}

namespace {

// After so many micro-batches the times between them stay as they are.
constexpr std::int64_t micro_batches_played = 32;

// The device behind its host.
struct HostAndDevice {
    double end_s = 0;
    double launched_s = 0;
    void wait() { launched_s = std::max(launched_s, end_s); }
    void play(double device_s, double launch_s) {
        launched_s += launch_s;
        end_s = std::max(end_s + device_s, launched_s);
    }
};

}  // namespace

PassMoments pass_moments(const LayerTimes& times, std::int64_t micro_batches) {
    PassMoments moments;
    moments.backward_end_s.resize(times.backward.size());
    HostAndDevice worker;
    const std::int64_t played = std::min(micro_batches, micro_batches_played);
    for (std::int64_t micro_batch = 0; micro_batch < played; ++micro_batch) {
        moments.begin_s = worker.end_s;
        for (std::size_t i = 0; i < times.forward.size(); ++i) {
            if (i < times.host_waits.size() && times.host_waits[i]) worker.wait();
            worker.play(times.forward[i].device_s, times.forward[i].launch_s);
        }
        moments.forward_s = worker.end_s;
        for (std::size_t i = times.backward.size(); i-- > 0;) {
            worker.play(times.backward[i].device_s, times.backward[i].launch_s);
            moments.backward_end_s[i] = worker.end_s;
        }
    }
    const double rest_s =
        static_cast<double>(micro_batches - played) * (worker.end_s - moments.begin_s);
    moments.begin_s += rest_s;
    moments.forward_s += rest_s;
    for (double& end_s : moments.backward_end_s) end_s += rest_s;
    moments.end_s = worker.end_s + rest_s;
    return moments;
}

double share_alone(const StageWork& stage, std::int64_t micro_batches, bool host_waits) {
    HostAndDevice worker;
    const auto play = [&](const std::vector<ModelBlock>& pass) {
        if (host_waits) worker.wait();
        for (const ModelBlock& block : pass) {
            if (block.host_waits) worker.wait();
            worker.play(block.share, block.launch_share);
        }
    };
    const std::int64_t played = std::min(micro_batches, micro_batches_played);
    double before = 0;
    for (std::int64_t micro_batch = 0; micro_batch < played; ++micro_batch) {
        before = worker.end_s;
        play(stage.forward);
        play(stage.backward);
        if (stage.inputs.empty()) play(stage.weights);
    }
    return worker.end_s + static_cast<double>(micro_batches - played) * (worker.end_s - before);
}

}  // namespace ukemi::sim
