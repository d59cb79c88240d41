// codec_plan.cpp — which tensors a bucket holds, and what the codec makes of each.
#include "sim/step/codec_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/input_error.hpp"
#include "base/invariant.hpp"

namespace ukemi::sim {
namespace {

std::uint32_t lane_of(kernels::Combination combination) {
    switch (combination) {
        case kernels::Combination::gather: return gather_lane;
        case kernels::Combination::broadcast: return broadcast_lane;
        default: return all_reduce_lane;
    }
}

// What one bucket's tensors need, round by round.
class BucketCoder {
public:
    BucketCoder(const StepCodec& choice, const CodecClock* clock, int ranks)
        : choice_(choice),
          codec_(*kernels::find_codec(choice.name)),
          clock_(clock),
          ranks_(ranks) {}

    void add(const kernels::TensorShape& shape) {
        elements_ += shape.elements();
        if (clock_ != nullptr) add_kernels(clock_->tensor(codec_, choice_.level, shape, ranks_));
        const kernels::CodecLayout layout =
            kernels::codec_layout(choice_.name, choice_.level, shape, ranks_);
        for (std::size_t round = 0; round < layout.rounds.size(); ++round) {
            rounds_[{round, lane_of(layout.rounds[round].combination)}] +=
                bytes(layout.rounds[round].bytes());
        }
        encode_ += layout.operations.encode;
        decode_ += layout.operations.decode;
        message_ += bytes(layout.message_bytes());
        reduces_ = reduces_ && layout.reduces();
    }

    // All tensors are there.
    Duration decode_time() const {
        if (clock_ == nullptr) {
            return seconds(static_cast<double>(decode_) / choice_.decode_rate);
        }
        KernelSum all = kernels_.decode;
        all += clock_->message(codec_, elements_, ranks_).decode;
        return CodecClock::time(all);
    }

    void finish(GradientBucket& bucket, CodedBytes& sums) {
        bucket.legs.clear();
        bucket.decode = decode_time();
        for (const auto& [where, size] : rounds_) {
            if (size > Bytes{}) bucket.legs.push_back({where.second, size});
        }
        if (clock_ != nullptr) {
            add_kernels(clock_->message(codec_, elements_, ranks_));
            bucket.encode = CodecClock::time(kernels_.encode);
            sums.kernels.encode += kernels_.encode;
            sums.kernels.decode += kernels_.decode;
        } else {
            bucket.encode = seconds(static_cast<double>(encode_) / choice_.encode_rate);
        }
        sums.encode += bucket.encode;
        sums.decode += bucket.decode;
        sums.message += message_;
        sums.reduces = sums.reduces && reduces_;
    }

private:
    void add_kernels(const CodecKernels& more) {
        kernels_.encode += more.encode;
        kernels_.decode += more.decode;
    }

    const StepCodec& choice_;
    const kernels::CodecEntry& codec_;
    const CodecClock* clock_;  // none: rates
    int ranks_;
    std::int64_t elements_ = 0;
    CodecKernels kernels_;
    std::map<std::pair<std::size_t, std::uint32_t>, Bytes> rounds_;  // by round and lane
    std::int64_t encode_ = 0;
    std::int64_t decode_ = 0;
    Bytes message_;
    bool reduces_ = true;
};

}  // namespace

std::vector<kernels::TensorShape> tensor_shapes(const ModelProfile& model) {
    std::vector<kernels::TensorShape> shapes;
    for (const GradientTensor& tensor : model.tensors) {
        const std::int64_t rows = tensor.rows > 0 ? tensor.rows : tensor.elements;
        shapes.push_back({rows, tensor.elements / rows});
    }
    return shapes;
}

CodedBytes encode_buckets(std::span<GradientBucket> buckets, const ModelProfile& model,
                          const BucketRule& rule, std::int64_t bytes_per_element,
                          const StepCodec& choice, int ranks, std::string_view where) {
    const kernels::CodecEntry* codec = kernels::find_codec(choice.name);
    INVARIANT(codec != nullptr);
    std::optional<CodecClock> clock;
    if (choice.encode_rate == 0) {
        INVARIANT(choice.gpu != nullptr);
        clock.emplace(*choice.gpu, where);
    }
    INVARIANT(clock || (choice.encode_rate > 0 && choice.decode_rate > 0));
    const bool pieces = rule.kind == BucketKind::chunks;
    if (pieces && rule.size.raw() % bytes_per_element != 0) {
        throw InputError(where, "",
                         fmt::format("expected chunks of a multiple of {} bytes, found {}",
                                     bytes_per_element, rule.size.raw()));
    }
    const bool of_matrices =
        codec->kind == policies::Codec::power_sgd || codec->kind == policies::Codec::atomo;
    if (pieces && of_matrices) {
        throw InputError(
            where, "",
            fmt::format("{} takes whole tensors, and \"chunks\" cuts them", choice.name));
    }
    const std::vector<kernels::TensorShape> shapes = tensor_shapes(model);
    if (of_matrices && std::ranges::all_of(shapes, [](const auto& shape) {
            return std::min(shape.rows, shape.columns) == 1;
        })) {
        throw InputError(
            where, "",
            fmt::format("{} makes tensors of two dimensions smaller, and {} has none that are "
                        "known: expected a model by its \"layers\", a \"transformer\" or a "
                        "shipped one",
                        choice.name, model.name));
    }
    std::size_t tensor = model.tensors.size();
    CodedBytes sums;
    for (GradientBucket& bucket : buckets) {
        const CodecClock* const times = clock ? &*clock : nullptr;
        BucketCoder coder(choice, times, ranks);
        BucketCoder of_one_less(choice, times, std::max(ranks - 1, 1));
        const auto add = [&](const kernels::TensorShape& shape) {
            coder.add(shape);
            of_one_less.add(shape);
        };
        const std::int64_t elements = bucket.bytes.raw() / bytes_per_element;
        sums.gradient += bucket.bytes;
        if (pieces) {
            add({elements, 1});
        } else {
            for (std::int64_t left = elements; left > 0;) {
                INVARIANT(tensor > 0);
                add(shapes[--tensor]);
                left -= shapes[tensor].elements();
            }
        }
        coder.finish(bucket, sums);
        bucket.decode_a_peer = bucket.decode - of_one_less.decode_time();
    }
    return sums;
}

}  // namespace ukemi::sim
