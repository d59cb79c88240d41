#include "kernels/cuda/device_model.hpp"

#include <algorithm>

#include "base/invariant.hpp"
#include "kernels/cuda/device_network.hpp"
#include "kernels/cuda/device_parts.hpp"
#include "kernels/models/image_network.hpp"

namespace ukemi::cuda {

namespace {

// A span of pinned memory, which its copies need for full speed.
template <class Number>
struct Pinned {
    explicit Pinned(std::size_t count)
        : memory(pinned_memory(count * sizeof(Number))),
          values(reinterpret_cast<Number*>(memory.get()), count) {}
    std::shared_ptr<std::byte> memory;
    std::span<Number> values;
};

// What batches need, up to a size.
struct BatchRoom {
    BatchRoom(const ImageNetwork& of, std::size_t samples, cudaStream_t stream,
              MatrixProducts::Use products)
        : samples_most(samples),
          network(of, static_cast<int>(samples), stream, products),
          values(samples * static_cast<std::size_t>(of.layers.front().out.size())),
          labels(samples),
          device_values(values.values.size()),
          device_labels(samples) {}

    std::size_t samples_most;
    DeviceNetwork network;
    Pinned<float> values;
    Pinned<std::uint8_t> labels;
    Buffer<float> device_values;
    Buffer<std::uint8_t> device_labels;
};

class DeviceWorkspace final : public Model::Workspace {
public:
    DeviceWorkspace(const ImageNetwork& network, const DeviceModelSettings& settings,
                    std::unique_ptr<Model::Workspace> on_host)
        : host(std::move(on_host)),
          network_(network),
          settings_(settings),
          stream_(make_stream()),
          weights_(network.parameter_count),
          gradient_(network.parameter_count),
          result_(2),
          mean_(network.parameter_count),
          sums_(2) {}
    ~DeviceWorkspace() override {
        // Nothing may be freed that the stream still uses.
        static_cast<void>(cudaSetDevice(settings_.device));
        static_cast<void>(cudaStreamSynchronize(stream_.get()));
    }

    BatchResult add_gradient(std::span<const float> weights, const DataSet& data,
                             std::span<const std::uint32_t> samples, std::span<float> gradient) {
        check(cudaSetDevice(settings_.device));
        send(weights, data, samples);
        room_->network.gradient(weights_.data(), room_->device_values.data(),
                                room_->device_labels.data(), static_cast<int>(samples.size()),
                                gradient_.data(), result_.data());
        cudaStream_t stream = stream_.get();
        check(cudaMemcpyAsync(mean_.values.data(), gradient_.data(), mean_.values.size_bytes(),
                              cudaMemcpyDeviceToHost, stream));
        check(cudaMemcpyAsync(sums_.values.data(), result_.data(), sums_.values.size_bytes(),
                              cudaMemcpyDeviceToHost, stream));
        check(cudaStreamSynchronize(stream));
        const auto count = static_cast<float>(samples.size());
        for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += count * mean_.values[i];
        return {sums_.values[0], sums_.values[1]};
    }

    const std::unique_ptr<Model::Workspace> host;

private:
    void send(std::span<const float> weights, const DataSet& data,
              std::span<const std::uint32_t> samples) {
        cudaStream_t stream = stream_.get();
        if (!room_ || samples.size() > room_->samples_most) {
            room_.reset();  // the stream has nothing to do between two gradients
            room_ =
                std::make_unique<BatchRoom>(network_, samples.size(), stream, settings_.products);
        }
        const auto features = static_cast<std::size_t>(data.features);
        for (std::size_t i = 0; i < samples.size(); ++i) {
            std::ranges::copy(data.sample(samples[i]),
                              room_->values.values.subspan(i * features, features).begin());
            room_->labels.values[i] = data.labels[samples[i]];
        }
        check(cudaMemcpyAsync(weights_.data(), weights.data(), weights.size_bytes(),
                              cudaMemcpyHostToDevice, stream));
        check(cudaMemcpyAsync(room_->device_values.data(), room_->values.values.data(),
                              samples.size() * features * sizeof(float), cudaMemcpyHostToDevice,
                              stream));
        check(cudaMemcpyAsync(room_->device_labels.data(), room_->labels.values.data(),
                              samples.size(), cudaMemcpyHostToDevice, stream));
    }

    const ImageNetwork& network_;
    const DeviceModelSettings settings_;
    Stream stream_;
    Buffer<float> weights_;
    Buffer<float> gradient_;
    Buffer<double> result_;
    Pinned<float> mean_;
    Pinned<double> sums_;
    std::unique_ptr<BatchRoom> room_;
};

class DeviceModel final : public Model {
public:
    DeviceModel(const ModelSpec& spec, const DataSet& data, const DeviceModelSettings& settings)
        : host_(make_model(spec, data)),
          network_(network_of(spec, data.features, data.classes)),
          settings_(settings) {
        INVARIANT(host_->parameter_count() == network_.parameter_count);
        check(cudaSetDevice(settings.device));
        check(cudaFree(nullptr));  // its context is made now, not in the first step
    }

    std::string_view kind() const override { return host_->kind(); }
    std::span<const TensorSlice> tensors() const override { return host_->tensors(); }
    std::size_t parameter_count() const override { return host_->parameter_count(); }
    std::vector<float> initial_weights(std::uint64_t seed) const override {
        return host_->initial_weights(seed);
    }

    std::unique_ptr<Workspace> make_workspace() const override {
        check(cudaSetDevice(settings_.device));
        return std::make_unique<DeviceWorkspace>(network_, settings_, host_->make_workspace());
    }
    BatchResult gradient(std::span<const float> weights, const DataSet& data,
                         std::span<const std::uint32_t> samples, std::span<float> gradient,
                         Workspace& workspace, const Finished& finished) const override {
        INVARIANT(weights.size() == parameter_count() && gradient.size() == weights.size());
        BatchResult result;
        if (!samples.empty()) {
            result = own(workspace).add_gradient(weights, data, samples, gradient);
        }
        if (finished) {
            for (std::size_t tensor = tensors().size(); tensor-- > 0;) finished(tensor);
        }
        return result;
    }
    void gradients(std::span<ReplicaBatch> replicas) const override {
        for (ReplicaBatch& one : replicas) {
            one.result =
                gradient(one.weights, *one.data, one.samples, one.gradient, *one.workspace, {});
        }
    }
    BatchResult evaluate(std::span<const float> weights, const DataSet& data,
                         std::span<const std::uint32_t> samples,
                         Workspace& workspace) const override {
        return host_->evaluate(weights, data, samples, *own(workspace).host);
    }

private:
    static DeviceWorkspace& own(Workspace& workspace) {
        auto* found = dynamic_cast<DeviceWorkspace*>(&workspace);
        INVARIANT(found != nullptr);
        return *found;
    }

    std::unique_ptr<Model> host_;
    ImageNetwork network_;
    DeviceModelSettings settings_;
};

}  // namespace

std::unique_ptr<Model> make_device_model(const ModelSpec& spec, const DataSet& data,
                                         const DeviceModelSettings& settings) {
    return std::make_unique<DeviceModel>(spec, data, settings);
}

}  // namespace ukemi::cuda
