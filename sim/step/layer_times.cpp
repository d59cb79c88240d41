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

PassMoments pass_moments(const LayerTimes& times) {
    PassMoments moments;
    double end_s = 0;
    double launched_s = 0;
    const auto play = [&](const LayerTimes::Pass& pass) {
        launched_s += pass.launch_s;
        end_s = std::max(end_s + pass.device_s, launched_s);
    };
    for (std::size_t i = 0; i < times.forward.size(); ++i) {
        const bool waits = i < times.host_waits.size() && times.host_waits[i];
        if (waits) launched_s = std::max(launched_s, end_s);
        play(times.forward[i]);
    }
    moments.forward_s = end_s;
    moments.backward_end_s.resize(times.backward.size());
    for (std::size_t i = times.backward.size(); i-- > 0;) {
        play(times.backward[i]);
        moments.backward_end_s[i] = end_s;
    }
    return moments;
}

}  // namespace ukemi::sim
