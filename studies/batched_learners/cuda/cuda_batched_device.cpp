// cuda_batched_device.cpp — all learners on one stream, their layers batched: for small models
// whose kernels leave most of a GPU idle even where several run beside each other.
#include "studies/batched_learners/cuda/cuda_batched_device.hpp"

#include <map>
#include <optional>

#include "base/invariant.hpp"
#include "kernels/cuda/averaging.hpp"
#include "kernels/cuda/device_network.hpp"
#include "kernels/cuda/device_parts.hpp"

namespace ukemi::studies {

using namespace kernels;
using namespace kernels::cuda;

namespace {

// Made for one number of learners, whose weights stand one after the other.
struct Replicas {
    Replicas(const ImageNetwork& of, const CudaDeviceSettings& settings, int replicas,
             cudaStream_t stream)
        : count(static_cast<std::size_t>(replicas)),
          network(of, settings.samples_most * replicas, stream, settings.products, replicas),
          weights(count * of.parameter_count),
          velocity(count * of.parameter_count),
          gradient(count * of.parameter_count),
          values(count * static_cast<std::size_t>(settings.samples_most) *
                 static_cast<std::size_t>(of.layers.front().out.size())),
          labels(count * static_cast<std::size_t>(settings.samples_most)),
          results(2 * count),
          results_host(pinned_memory(2 * count * sizeof(double))) {}

    std::size_t count;
    DeviceNetwork network;
    Buffer<float> weights;
    Buffer<float> velocity;
    Buffer<float> gradient;
    Buffer<float> values;
    Buffer<std::uint8_t> labels;
    Buffer<double> results;
    std::shared_ptr<std::byte> results_host;
    std::map<std::int64_t, std::optional<Graph>> graphs;  // of gradients, by a learner's samples
};

class CudaBatchedDevice final : public LearnerDevice {
public:
    CudaBatchedDevice(const ImageNetwork& network, std::span<const float> weights,
                      const CudaDeviceSettings& settings)
        : network_(network),
          settings_(settings),
          stream_(stream_on(settings.device)),
          central_(weights),
          previous_(weights),
          sum_(weights.size()) {
        INVARIANT(weights.size() == network.parameter_count);
    }
    // Nothing may be freed that the stream still uses.
    ~CudaBatchedDevice() override { wait_for_stream(); }

    std::size_t parameters() const override { return network_.parameter_count; }
    std::shared_ptr<std::byte> pinned(std::size_t bytes) override {
        use_device();
        return pinned_memory(bytes);
    }
    bool batched() const override { return true; }

    void use_learners(int count, std::size_t) override {
        INVARIANT(count >= 1 && given_.empty());
        const auto wanted = static_cast<std::size_t>(count);
        if (replicas_ && replicas_->count == wanted) return;
        use_device();
        auto next = std::make_unique<Replicas>(network_, settings_, count, stream_.get());
        const std::size_t kept = replicas_ ? std::min(replicas_->count, wanted) : 0;
        if (kept > 0) {
            copy(replicas_->weights.data(), next->weights.data(), kept * parameters());
            copy(replicas_->velocity.data(), next->velocity.data(), kept * parameters());
        }
        for (std::size_t i = kept; i < wanted; ++i) begin_at_centre(*next, i);
        check(cudaStreamSynchronize(stream_.get()));  // before the old ones are freed
        replicas_ = std::move(next);
        made_ = std::max(made_, count);
    }
    int learners_made() const override { return made_; }

    void start(int learner, const InputBatch& batch, const Step& step, std::size_t,
               Done done) override {
        Replicas& all = *replicas_;
        const auto place = static_cast<std::size_t>(learner);
        INVARIANT(place < all.count && !given_.contains(place));
        INVARIANT(batch.count >= 1 && batch.count <= settings_.samples_most);
        INVARIANT(given_.empty() || batch.count == samples_);  // shares of one launch are equal
        use_device();
        samples_ = batch.count;
        const std::size_t values = batch.values.size();
        const std::size_t labels = batch.labels.size();
        to_device(all.values.data() + place * values, batch.values.data(), values * sizeof(float));
        to_device(all.labels.data() + place * labels, batch.labels.data(), labels);
        given_[place] = std::move(done);
        if (given_.size() == all.count) train(step);
    }

    // Of the one clock that there is: slots are of no use here.
    Outcome synchronise(std::size_t, std::size_t count, float momentum,
                        const Exchange& exchange) override {
        INVARIANT(replicas_ && count == replicas_->count);
        use_device();
        if (exchange) {
            const Outcome outcome =
                exchange_sum(exchange, sum_, settings_.exchange_on_host, stream_.get());
            if (outcome != Outcome::ok) return outcome;
        }
        check(launch_central_step(sum_.data(), momentum, central_.data(), previous_.data(),
                                  parameters(), stream_.get()));
        return Outcome::ok;
    }

    void throw_if_failed() override {
        use_device();
        const cudaError_t code = cudaStreamQuery(stream_.get());
        if (code != cudaErrorNotReady) check(code);
    }
    void settle() noexcept override {
        given_.clear();
        wait_for_stream();
    }

    std::vector<float> central() override {
        use_device();
        check(cudaStreamSynchronize(stream_.get()));
        return central_.read();
    }
    std::vector<float> weights(int learner) override {
        use_device();
        check(cudaStreamSynchronize(stream_.get()));
        const std::vector<float> all = replicas_->weights.read();
        const auto begin =
            all.begin() + static_cast<std::ptrdiff_t>(parameters()) * std::ptrdiff_t{learner};
        return {begin, begin + static_cast<std::ptrdiff_t>(parameters())};
    }
    void restart(std::span<const float> weights, std::span<const float> previous) override {
        INVARIANT(weights.size() == parameters() && previous.size() == parameters());
        use_device();
        check(cudaStreamSynchronize(stream_.get()));
        central_.fill(weights);
        previous_.fill(previous);
        for (std::size_t i = 0; replicas_ && i < replicas_->count; ++i) {
            begin_at_centre(*replicas_, i);
        }
    }

private:
    // CUDA's current device is a thread's own, and callers may be any thread.
    void use_device() const { check(cudaSetDevice(settings_.device)); }
    // Also until an error has ended its work: nobody asks what it was.
    void wait_for_stream() noexcept {
        static_cast<void>(cudaSetDevice(settings_.device));
        static_cast<void>(cudaStreamSynchronize(stream_.get()));
    }
    void copy(const float* from, float* to, std::size_t count) {
        check(cudaMemcpyAsync(to, from, count * sizeof(float), cudaMemcpyDeviceToDevice,
                              stream_.get()));
    }
    void to_device(void* to, const void* from, std::size_t bytes) {
        check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_.get()));
    }
    void begin_at_centre(Replicas& replicas, std::size_t learner) {
        copy(central_.data(), replicas.weights.data() + learner * parameters(), parameters());
        check(cudaMemsetAsync(replicas.velocity.data() + learner * parameters(), 0,
                              parameters() * sizeof(float), stream_.get()));
    }

    void train(const Step& step) {
        Replicas& all = *replicas_;
        cudaStream_t stream = stream_.get();
        launch_gradient(all);
        check(launch_averaged_learners(step.rule, step.pull, central_.data(), all.gradient.data(),
                                       all.weights.data(), all.velocity.data(), all.count,
                                       parameters(), sum_.data(), stream));
        auto* results = reinterpret_cast<double*>(all.results_host.get());
        check(cudaMemcpyAsync(results, all.results.data(), 2 * all.count * sizeof(double),
                              cudaMemcpyDeviceToHost, stream));
        std::vector<Done> done;
        for (auto& [place, one] : given_) done.push_back(std::move(one));
        given_.clear();
        endings_.launch(std::move(done), results, stream);
    }
    void launch_gradient(Replicas& all) {
        const auto gradient = [&] {
            all.network.gradient(all.weights.data(), all.values.data(), all.labels.data(),
                                 static_cast<int>(samples_) * static_cast<int>(all.count),
                                 all.gradient.data(), all.results.data());
        };
        if (samples_ > settings_.graph_samples_most) return gradient();
        launch_as_graph(all.graphs, samples_, stream_.get(), gradient);
    }

    const ImageNetwork& network_;
    const CudaDeviceSettings settings_;
    Endings endings_;
    Stream stream_;
    Buffer<float> central_;
    Buffer<float> previous_;
    Buffer<float> sum_;  // of the last clock's corrections
    std::unique_ptr<Replicas> replicas_;
    int made_ = 0;
    std::int64_t samples_ = 0;  // of each learner's batch
    std::map<std::size_t, Done> given_;
};

}  // namespace

std::unique_ptr<LearnerDevice> make_cuda_batched_device(const ImageNetwork& network,
                                                        std::span<const float> weights,
                                                        const CudaDeviceSettings& settings) {
    return std::make_unique<CudaBatchedDevice>(network, weights, settings);
}

}  // namespace ukemi::studies
