#include "kernels/cuda/device_model.hpp"

#include <algorithm>

#include "base/invariant.hpp"
#include "kernels/cuda/device_network.hpp"
#include "kernels/cuda/device_parts.hpp"
#include "kernels/models/image_network.hpp"

namespace ukemi::kernels::cuda {

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

// Of a gradient: layers whose tensors lie side by side and come back together.
struct Part {
    Part(std::size_t of_node, std::size_t from, std::size_t to)
        : node(of_node),
          tensors_begin(from),
          tensors_end(to),
          computed(make_plain_event()),
          arrived(make_waiting_event()) {}
    std::size_t node;  // the first of its layers, which the backward pass leaves last
    std::size_t tensors_begin;
    std::size_t tensors_end;
    std::size_t begin = 0;  // in the buffer
    std::size_t end = 0;
    Event computed;
    Event arrived;
};

std::vector<Part> parts_of(const ImageNetwork& network, std::size_t least_bytes) {
    std::vector<Part> parts;
    std::size_t tensors_end = network.tensors.size();
    std::size_t end = network.parameter_count;
    for (std::size_t node = network.layers.size(); node-- > 1;) {
        const ImageLayer& layer = network.layers[node];
        if (layer.tensor_count == 0) continue;
        const std::size_t begin = network.tensors[layer.first_tensor].begin;
        if ((end - begin) * sizeof(float) < least_bytes && layer.first_tensor > 0) continue;
        Part& part = parts.emplace_back(node, layer.first_tensor, tensors_end);
        part.begin = begin;
        part.end = end;
        tensors_end = layer.first_tensor;
        end = begin;
    }
    INVARIANT(tensors_end == 0 && end == 0);
    return parts;
}

class DeviceWorkspace final : public Model::Workspace {
public:
    DeviceWorkspace(const ImageNetwork& network, const DeviceModelSettings& settings,
                    std::unique_ptr<Model::Workspace> on_host)
        : host(std::move(on_host)),
          network_(network),
          settings_(settings),
          stream_(make_stream()),
          copies_(make_stream()),
          parts_(parts_of(network, settings.part_bytes)),
          weights_(network.parameter_count),
          gradient_(network.parameter_count),
          result_(2),
          sum_(network.parameter_count),
          sums_(2) {}
    ~DeviceWorkspace() override {
        // Nothing may be freed that a stream still uses.
        static_cast<void>(cudaSetDevice(settings_.device));
        drain();
    }

    BatchResult add_gradient(std::span<const float> weights, const DataSet& data,
                             std::span<const std::uint32_t> samples, std::span<float> gradient,
                             const Model::Finished& finished) {
        check(cudaSetDevice(settings_.device));
        // The next gradient may write what this one, if it throws, has on its streams.
        struct Drained {
            DeviceWorkspace& streams;
            ~Drained() { streams.drain(); }
        } const drained{*this};
        send(weights, data, samples);
        auto next = parts_.begin();
        const auto send_back = [&](std::size_t node) {
            if (node == next->node) send_part(*next++);
        };
        room_->network.sum_gradient(weights_.data(), room_->device_values.data(),
                                    room_->device_labels.data(), static_cast<int>(samples.size()),
                                    gradient_.data(), result_.data(), send_back);
        check(cudaMemcpyAsync(sums_.values.data(), result_.data(), sums_.values.size_bytes(),
                              cudaMemcpyDeviceToHost, stream_.get()));
        for (const Part& part : parts_) {
            check(cudaEventSynchronize(part.arrived.get()));
            for (std::size_t i = part.begin; i < part.end; ++i) gradient[i] += sum_.values[i];
            for (std::size_t tensor = part.tensors_end; finished && tensor > part.tensors_begin;) {
                finished(--tensor);
            }
        }
        check(cudaStreamSynchronize(stream_.get()));
        return {sums_.values[0], sums_.values[1]};
    }

    const std::unique_ptr<Model::Workspace> host;

private:
    void drain() noexcept {
        static_cast<void>(cudaStreamSynchronize(stream_.get()));
        static_cast<void>(cudaStreamSynchronize(copies_.get()));
    }

    // On a stream of its own, behind what is on the other one now.
    void send_part(const Part& part) {
        check(cudaEventRecord(part.computed.get(), stream_.get()));
        check(cudaStreamWaitEvent(copies_.get(), part.computed.get(), 0));
        check(cudaMemcpyAsync(&sum_.values[part.begin], gradient_.data() + part.begin,
                              (part.end - part.begin) * sizeof(float), cudaMemcpyDeviceToHost,
                              copies_.get()));
        check(cudaEventRecord(part.arrived.get(), copies_.get()));
    }

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
    Stream copies_;  // of parts of the gradient
    std::vector<Part> parts_;
    Buffer<float> weights_;
    Buffer<float> gradient_;
    Buffer<double> result_;
    Pinned<float> sum_;
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
        if (!samples.empty()) {
            return own(workspace).add_gradient(weights, data, samples, gradient, finished);
        }
        for (std::size_t tensor = tensors().size(); finished && tensor > 0;) finished(--tensor);
        return {};
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

}  // namespace ukemi::kernels::cuda
