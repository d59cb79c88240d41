// exchange.cpp — gradient codecs and the noise of gradients, for workers in Python: what the
// product's own workers compute with, while Python carries the messages.
#include <pybind11/stl.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/input_error.hpp"
#include "kernels/encoded_exchange.hpp"
#include "kernels/gradient_noise.hpp"
#include "kernels/setting_ranges.hpp"
#include "python/bindings.hpp"

namespace ukemi::python {

namespace {

using kernels::Outcome;

// By the names of PyTorch's types, and how they are combined.
std::pair<const char*, const char*> named(kernels::Reduction reduction) {
    switch (reduction) {
        case kernels::Reduction::sum_single: return {"float32", "sum"};
        case kernels::Reduction::sum_half: return {"float16", "sum"};
        case kernels::Reduction::sum_int8: return {"int8", "sum"};
        case kernels::Reduction::sum_int16: return {"int16", "sum"};
        case kernels::Reduction::sum_int32: return {"int32", "sum"};
        case kernels::Reduction::maximum_single: return {"float32", "max"};
    }
    throw py::value_error("a reduction without a name");
}

py::memoryview writable(std::span<std::byte> bytes) {
    return py::memoryview::from_memory(bytes.data(), static_cast<py::ssize_t>(bytes.size()));
}

// Messages go by an object of Python's: all_reduce(memory, type, how), all_gather(own, all) and
// broadcast(memory, root), each in place. What it raises ends the exchange.
class CarriedByPython final : public kernels::Communicator {
public:
    CarriedByPython(py::object by, kernels::Membership members)
        : by_(std::move(by)), members_(members) {}
    ~CarriedByPython() override {
        const py::gil_scoped_acquire lock;
        by_.release().dec_ref();
    }
    CarriedByPython(const CarriedByPython&) = delete;
    CarriedByPython& operator=(const CarriedByPython&) = delete;

    kernels::Membership membership() const override { return members_; }
    Outcome all_reduce(std::string_view, const kernels::Schedule&, kernels::Reduction reduction,
                       std::span<std::byte> elements) override {
        const py::gil_scoped_acquire lock;
        const auto [type, how] = named(reduction);
        by_.attr("all_reduce")(writable(elements), type, how);
        return Outcome::ok;
    }
    Outcome all_gather(std::string_view, std::span<const std::byte> own,
                       std::span<std::byte> all) override {
        const py::gil_scoped_acquire lock;
        by_.attr("all_gather")(py::bytes(reinterpret_cast<const char*>(own.data()), own.size()),
                               writable(all));
        return Outcome::ok;
    }
    Outcome broadcast(std::string_view, std::span<std::byte> bytes, int root) override {
        const py::gil_scoped_acquire lock;
        by_.attr("broadcast")(writable(bytes), root);
        return Outcome::ok;
    }
    Outcome exchange(std::string_view, int, std::span<const std::byte>,
                     std::span<std::byte>) override {
        return Outcome::aborted;  // no codec does this
    }
    void abort() override {}
    int suspect() const override { return -1; }

private:
    py::object by_;
    kernels::Membership members_;
};

std::span<float> singles(const py::buffer_info& info, const char* what) {
    if (info.ndim != 1 || info.itemsize != sizeof(float) || info.strides[0] != sizeof(float) ||
        info.format != py::format_descriptor<float>::format()) {
        throw py::value_error(std::string(what) + ": expected a row of single precision");
    }
    return {static_cast<float*>(info.ptr), static_cast<std::size_t>(info.size)};
}

py::bytearray bytes_of(std::span<const float> row) {
    return {reinterpret_cast<const char*>(row.data()), row.size_bytes()};
}

std::vector<float> row_of(const py::buffer& given, const char* what) {
    const py::buffer_info info = given.request();
    const auto row = singles(info, what);
    return {row.begin(), row.end()};
}

std::vector<kernels::TensorSlice> slices_of(
    const std::vector<std::pair<std::int64_t, std::int64_t>>& shapes) {
    std::vector<kernels::TensorSlice> slices;
    std::size_t begin = 0;
    for (const auto& [rows, columns] : shapes) {
        if (rows < 0 || columns < 1 || rows > kernels::codec_elements_max / columns) {
            throw py::value_error("shapes: expected rows, and columns from 1 on");
        }
        const auto count = static_cast<std::size_t>(rows * columns);
        slices.push_back({"", begin, count, static_cast<std::size_t>(columns)});
        begin += count;
    }
    return slices;
}

policies::Codec codec_named(const std::string& name) {
    const kernels::CodecEntry* found = kernels::find_codec(name);
    if (found == nullptr || found->kind == policies::Codec::none) {
        throw InputError("codec", "", "no codec " + name);
    }
    return found->kind;
}

kernels::Membership member(int rank, int ranks) {
    if (ranks < 1 || ranks > kernels::codec_ranks_max || rank < 0 || rank >= ranks) {
        throw py::value_error("rank: expected one of the ranks");
    }
    return {.epoch = 0, .rank = rank, .size = ranks};
}

// An EncodedExchange of one group, and what it remembers: both as the product's own workers have
// them (kernels/training_step.cpp).
class GradientExchange {
public:
    using Shapes = std::vector<std::pair<std::int64_t, std::int64_t>>;

    GradientExchange(const std::string& codec, double level, bool error_feedback,
                     std::uint64_t seed, const Shapes& shapes, std::size_t bucket_bytes, int rank,
                     int ranks)
        : settings_{codec_named(codec), level, error_feedback, seed},
          slices_(slices_of(shapes)),
          buckets_(kernels::make_buckets(slices_, bucket_bytes)),
          members_(member(rank, ranks)),
          exchange_(settings_, slices_, buckets_, members_),
          elements_(slices_.empty() ? 0 : slices_.back().begin + slices_.back().count),
          shared_(exchange_.memory().shared.size()) {}

    // `shared` as long as this exchange's own, or empty: as new. `kept` as the model, or empty.
    void begin(std::int64_t step, const py::buffer& shared, const py::buffer& kept) {
        kernels::CodecMemory memory{settings_.codec, settings_.level, row_of(shared, "shared"),
                                    row_of(kept, "kept")};
        if (step < 0) throw py::value_error("step: expected no negative number");
        if (!memory.shared.empty() && memory.shared.size() != shared_) {
            throw py::value_error("shared: expected what this codec remembers of this model");
        }
        if (!memory.kept.empty() && memory.kept.size() != elements_) {
            throw py::value_error("kept: expected a row as long as the model");
        }
        exchange_.begin(step, memory, 1);
    }

    // In place: this rank's gradient, then everybody's mean.
    void average(py::object peers, const py::buffer& gradient) {
        const py::buffer_info info = gradient.request(true);
        const std::span<float> row = singles(info, "gradient");
        if (row.size() != elements_) {
            throw py::value_error("gradient: expected a row as long as the model");
        }
        CarriedByPython carried(std::move(peers), members_);
        const py::gil_scoped_release others;
        for (std::size_t at = 0; at < buckets_.size(); ++at) {
            const kernels::Bucket& bucket = buckets_[at];
            const Outcome outcome = exchange_.exchange(
                at, carried, schedule_, row.subspan(bucket.begin, bucket.end - bucket.begin));
            if (outcome != Outcome::ok) throw std::runtime_error("the exchange came to nothing");
        }
    }

    py::tuple measures() const {
        const kernels::EncodedMeasures all = exchange_.measures();
        return py::make_tuple(all.codec_ns, all.bytes, all.lost, all.whole);
    }

    py::tuple memory() {
        const kernels::CodecMemory memory = exchange_.memory();
        return py::make_tuple(bytes_of(memory.shared), bytes_of(memory.kept));
    }

private:
    kernels::EncodedSettings settings_;
    std::vector<kernels::TensorSlice> slices_;
    std::vector<kernels::Bucket> buckets_;
    kernels::Membership members_;
    kernels::EncodedExchange exchange_;
    std::size_t elements_;
    std::size_t shared_;
    kernels::Schedule schedule_;  // Python's peers have their own
};

// ---- the noise of gradients --------------------------------------------------------------------

using Norms = std::vector<std::pair<std::int64_t, double>>;

std::optional<std::pair<double, double>> noise_of_replicas(const Norms& norms, double average) {
    std::vector<kernels::LocalNorm> ranks;
    for (const auto& [samples, norm] : norms) ranks.push_back({samples, norm});
    const auto noise = kernels::noise_of_replicas(ranks, average);
    if (!noise) return std::nullopt;
    return std::pair(noise->squared_norm, noise->covariance_trace);
}

using Averages = std::tuple<double, double, std::int64_t>;

kernels::NoiseAverages averages_of(const Averages& values) {
    const auto& [squared_norm, covariance_trace, samples] = values;
    if (samples < 0) throw py::value_error("averages: expected a number of samples");
    return {squared_norm, covariance_trace, samples};
}

Averages add_noise(const Averages& values, double squared_norm, double covariance_trace,
                   double smoothing) {
    const kernels::SettingRange& range = kernels::noise_smoothing_range;
    if (!(smoothing >= range.least && smoothing <= range.most)) {
        throw py::value_error("smoothing: expected a weight from 0 to below 1");
    }
    kernels::NoiseAverages averages = averages_of(values);
    averages.add({squared_norm, covariance_trace}, smoothing);
    return {averages.squared_norm, averages.covariance_trace, averages.samples};
}

}  // namespace

void bind_exchange(py::module_& module) {
    py::class_<GradientExchange>(module, "GradientExchange",
                                 "The averaging of gradients by a codec, in one group.")
        .def(py::init<const std::string&, double, bool, std::uint64_t,
                      const GradientExchange::Shapes&, std::size_t, int, int>(),
             py::arg("codec"), py::arg("level"), py::arg("error_feedback"), py::arg("seed"),
             py::arg("shapes"), py::arg("bucket_bytes"), py::arg("rank"), py::arg("ranks"))
        .def("begin", &GradientExchange::begin, py::arg("step"), py::arg("shared"), py::arg("kept"))
        .def("average", &GradientExchange::average, py::arg("peers"), py::arg("gradient"))
        .def_property_readonly("measures", &GradientExchange::measures)
        .def("memory", &GradientExchange::memory);
    module.def("codec_refusal", [](const std::string& codec, double level) {
        return kernels::codec_refusal(codec_named(codec), level);
    });
    module.def("noise_of_replicas", &noise_of_replicas, py::arg("norms"),
               py::arg("average_squared_norm"));
    module.def("add_noise", &add_noise, py::arg("averages"), py::arg("squared_norm"),
               py::arg("covariance_trace"), py::arg("smoothing"));
    module.def("noise_scale", [](const Averages& values) {
        return averages_of(values).noise_scale().value_or(0);
    });
}

}  // namespace ukemi::python
