#include "kernels/cuda/cuda_device.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "base/invariant.hpp"
#include "kernels/cuda/averaging.hpp"
#include "kernels/cuda/device_network.hpp"
#include "kernels/cuda/device_parts.hpp"

namespace ukemi::kernels::cuda {

namespace {

// What a batch needs, up to a size.
struct Room {
    Room(const ImageNetwork& of, int samples, cudaStream_t stream, MatrixProducts::Use products)
        : samples_most(samples),
          network(of, samples, stream, products),
          values(static_cast<std::size_t>(samples) *
                 static_cast<std::size_t>(of.layers.front().out.size())),
          labels(static_cast<std::size_t>(samples)) {}

    int samples_most;
    DeviceNetwork network;
    Buffer<float> values;
    Buffer<std::uint8_t> labels;
    std::map<int, std::optional<Graph>> graphs;  // of gradients, by samples; none: seen once
};

struct Learner {
    Learner(const ImageNetwork& of, const CudaDeviceSettings& settings)
        : stream(make_stream()),
          stepped(make_plain_event()),
          weights(of.parameter_count),
          velocity(of.parameter_count),
          gradient(of.parameter_count),
          result(2),
          result_host(pinned_memory(2 * sizeof(double))) {
        make_room(of, settings, settings.samples_most);
    }
    void make_room(const ImageNetwork& of, const CudaDeviceSettings& settings, int samples) {
        if (room && samples <= room->samples_most) return;
        check(cudaStreamSynchronize(stream.get()));  // nothing may be freed that it still uses
        room.reset();
        room = std::make_unique<Room>(of, samples, stream.get(), settings.products);
    }

    Stream stream;
    Event stepped;  // its last step has read the central model
    std::unique_ptr<Room> room;
    Buffer<float> weights;
    Buffer<float> velocity;
    Buffer<float> gradient;
    Buffer<double> result;
    std::shared_ptr<std::byte> result_host;
    bool has_stepped = false;
};

class CudaDevice final : public LearnerDevice {
public:
    CudaDevice(const ImageNetwork& network, std::span<const float> weights,
               const CudaDeviceSettings& settings)
        : network_(network),
          settings_(settings),
          stream_(stream_on(settings.device)),
          central_done_(make_plain_event()),
          central_(weights),
          previous_(weights),
          sum_(weights.size()) {
        INVARIANT(weights.size() == network.parameter_count);
        check(cudaEventRecord(central_done_.get(), stream_.get()));
    }
    // Nothing may be freed that a stream still uses.
    ~CudaDevice() override { wait_for_streams(); }

    std::size_t parameters() const override { return network_.parameter_count; }
    std::shared_ptr<std::byte> pinned(std::size_t bytes) override {
        use_device();
        return pinned_memory(bytes);
    }

    void use_learners(int count, std::size_t slots) override {
        INVARIANT(count >= 1);
        use_device();
        while (slots_.size() < slots) slots_.emplace_back(parameters());
        const auto wanted = static_cast<std::size_t>(count);
        while (learners_.size() < wanted) {
            learners_.push_back(std::make_unique<Learner>(network_, settings_));
        }
        for (std::size_t i = used_; i < wanted; ++i) begin_at_centre(*learners_[i]);
        used_ = wanted;
    }
    int learners_made() const override { return static_cast<int>(learners_.size()); }

    void start(int number, const InputBatch& batch, const Step& step, std::size_t slot,
               Done done) override {
        const auto place = static_cast<std::size_t>(number);
        INVARIANT(place < used_ && slot < slots_.size());
        INVARIANT(batch.count >= 1);
        use_device();
        Learner& learner = *learners_[place];
        cudaStream_t stream = learner.stream.get();
        const auto samples = static_cast<int>(batch.count);
        learner.make_room(network_, settings_, samples);
        Room& room = *learner.room;
        check(cudaMemcpyAsync(room.values.data(), batch.values.data(), batch.values.size_bytes(),
                              cudaMemcpyHostToDevice, stream));
        check(cudaMemcpyAsync(room.labels.data(), batch.labels.data(), batch.labels.size_bytes(),
                              cudaMemcpyHostToDevice, stream));
        launch_gradient(learner, samples);
        check(cudaStreamWaitEvent(stream, central_done_.get(), 0));
        check(launch_averaged_learners(
            step.rule, step.pull, central_.data(), learner.gradient.data(), learner.weights.data(),
            learner.velocity.data(), 1, parameters(), slots_[slot].data(), stream));
        check(cudaEventRecord(learner.stepped.get(), stream));
        learner.has_stepped = true;
        auto* result = reinterpret_cast<double*>(learner.result_host.get());
        check(cudaMemcpyAsync(result, learner.result.data(), 2 * sizeof(double),
                              cudaMemcpyDeviceToHost, stream));
        std::vector<Done> told;
        told.push_back(std::move(done));
        endings_.launch(std::move(told), result, stream);
    }

    Outcome synchronise(std::size_t first, std::size_t count, float momentum,
                        const Exchange& exchange) override {
        INVARIANT(count >= 1 && first + count <= slots_.size());
        use_device();
        cudaStream_t stream = stream_.get();
        const std::size_t bytes = parameters() * sizeof(float);
        // Steps that were launched before read the central model as it is now.
        for (const auto& learner : learners_) {
            if (!learner->has_stepped) continue;
            check(cudaStreamWaitEvent(stream, learner->stepped.get(), 0));
        }
        check(cudaMemsetAsync(sum_.data(), 0, bytes, stream));
        for (std::size_t slot = first; slot < first + count; ++slot) {
            check(launch_add_to(slots_[slot].data(), sum_.data(), parameters(), stream));
        }
        if (exchange) {
            const Outcome outcome =
                exchange_sum(exchange, sum_, settings_.exchange_on_host, stream);
            if (outcome != Outcome::ok) return outcome;
        }
        check(launch_central_step(sum_.data(), momentum, central_.data(), previous_.data(),
                                  parameters(), stream));
        check(cudaEventRecord(central_done_.get(), stream));
        return Outcome::ok;
    }

    void throw_if_failed() override {
        use_device();
        const auto look = [](const Stream& stream) {
            const cudaError_t code = cudaStreamQuery(stream.get());
            if (code != cudaErrorNotReady) check(code);
        };
        for (const auto& learner : learners_) look(learner->stream);
        look(stream_);
    }
    void settle() noexcept override { wait_for_streams(); }

    std::vector<float> central() override {
        use_device();
        check(cudaStreamSynchronize(stream_.get()));
        return central_.read();
    }
    std::vector<float> weights(int learner) override {
        use_device();
        Learner& one = *learners_.at(static_cast<std::size_t>(learner));
        check(cudaStreamSynchronize(one.stream.get()));
        return one.weights.read();
    }
    void restart(std::span<const float> weights, std::span<const float> previous) override {
        INVARIANT(weights.size() == parameters() && previous.size() == parameters());
        use_device();
        check(cudaStreamSynchronize(stream_.get()));
        central_.fill(weights);
        previous_.fill(previous);
        for (const auto& learner : learners_) begin_at_centre(*learner);
    }

private:
    // CUDA's current device is a thread's own, and callers may be any thread.
    void use_device() const { check(cudaSetDevice(settings_.device)); }
    // Also until an error has ended their work: nobody asks what it was.
    void wait_for_streams() noexcept {
        static_cast<void>(cudaSetDevice(settings_.device));
        for (const auto& learner : learners_) {
            static_cast<void>(cudaStreamSynchronize(learner->stream.get()));
        }
        static_cast<void>(cudaStreamSynchronize(stream_.get()));
    }

    void begin_at_centre(Learner& learner) {
        cudaStream_t stream = learner.stream.get();
        const std::size_t bytes = parameters() * sizeof(float);
        check(cudaStreamWaitEvent(stream, central_done_.get(), 0));
        check(cudaMemcpyAsync(learner.weights.data(), central_.data(), bytes,
                              cudaMemcpyDeviceToDevice, stream));
        check(cudaMemsetAsync(learner.velocity.data(), 0, bytes, stream));
        check(cudaEventRecord(learner.stepped.get(), stream));
        learner.has_stepped = true;
    }

    void launch_gradient(Learner& learner, int samples) {
        Room& room = *learner.room;
        const auto gradient = [&] {
            room.network.gradient(learner.weights.data(), room.values.data(), room.labels.data(),
                                  samples, learner.gradient.data(), learner.result.data());
        };
        if (samples > settings_.graph_samples_most) {
            gradient();
            return;
        }
        launch_as_graph(room.graphs, samples, learner.stream.get(), gradient);
    }

    const ImageNetwork& network_;
    const CudaDeviceSettings settings_;
    Endings endings_;
    Stream stream_;  // of synchronisations
    Event central_done_;
    Buffer<float> central_;
    Buffer<float> previous_;
    Buffer<float> sum_;
    std::vector<Buffer<float>> slots_;
    std::vector<std::unique_ptr<Learner>> learners_;
    std::size_t used_ = 0;
};

}  // namespace

std::unique_ptr<LearnerDevice> make_cuda_device(const ImageNetwork& network,
                                                std::span<const float> weights,
                                                const CudaDeviceSettings& settings) {
    return std::make_unique<CudaDevice>(network, weights, settings);
}

}  // namespace ukemi::kernels::cuda
