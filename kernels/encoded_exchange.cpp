// encoded_exchange.cpp — which messages travel together, and a bucket's way through its rounds.
#include "kernels/encoded_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/invariant.hpp"

namespace ukemi::kernels {
namespace {

using ExchangeClock = std::chrono::steady_clock;

TensorShape shape_of(const TensorSlice& slice) {
    const auto columns = static_cast<std::int64_t>(std::max<std::size_t>(slice.columns, 1));
    return {.rows = static_cast<std::int64_t>(slice.count) / columns, .columns = columns};
}

double squared(float value) { return static_cast<double>(value) * static_cast<double>(value); }

}  // namespace

std::vector<Bucket> make_buckets(std::span<const TensorSlice> tensors, std::size_t bucket_bytes) {
    std::vector<Bucket> buckets;
    for (std::size_t tensor = tensors.size(); tensor-- > 0;) {
        const TensorSlice& slice = tensors[tensor];
        const bool open =
            !buckets.empty() &&
            (buckets.back().end - buckets.back().begin) * sizeof(float) < bucket_bytes;
        if (!open) {
            const std::size_t end = slice.begin + slice.count;
            buckets.push_back(
                {fmt::format("bucket/{}", buckets.size()), tensor, tensor + 1, end, end});
        }
        buckets.back().first_tensor = tensor;
        buckets.back().begin = slice.begin;
    }
    return buckets;
}

struct EncodedExchange::Tensor {
    TensorSlice slice;
    CodecLayout layout;
    std::unique_ptr<TensorCodec> codec;
};

// Messages of one round that are combined alike.
struct EncodedExchange::Operation {
    struct Part {
        std::size_t tensor = 0;
        std::size_t begin = 0;  // bytes of the message
        std::size_t bytes = 0;
    };
    std::string name;
    std::size_t round = 0;
    WireRound kind;  // its combination and element
    std::vector<Part> parts;
    std::vector<std::byte> message;  // of a reduction: the result, too
    std::vector<std::byte> gathered;
    std::vector<std::byte> sorted;  // one tensor's messages, by rank
};

struct EncodedExchange::Lane {
    std::vector<Operation> operations;  // in the order of their rounds
    std::size_t begin = 0;              // of the bucket
    std::size_t first_tensor = 0;
    std::size_t end_tensor = 0;
    std::vector<float> arrived;
    EncodedMeasures measures;
    std::int64_t wire_ns = 0;
};

std::int64_t encoded_bytes(policies::Codec codec, double level,
                           std::span<const TensorSlice> tensors, int ranks) {
    std::int64_t bytes = 0;
    for (const TensorSlice& slice : tensors) {
        bytes += codec_layout(entry_of(codec).name, level, shape_of(slice), ranks).message_bytes();
    }
    return bytes;
}

EncodedExchange::EncodedExchange(const EncodedSettings& settings,
                                 std::span<const TensorSlice> tensors,
                                 std::span<const Bucket> buckets, const Membership& members)
    : settings_(settings), members_(members) {
    INVARIANT(settings.codec != policies::Codec::none);
    const CodecEntry& entry = entry_of(settings.codec);
    keeps_ = settings.error_feedback && entry.contracts;
    const CodecSettings plain{.level = settings.level, .seed = settings.seed, .rest_kept = keeps_};
    std::size_t elements = 0;
    for (std::size_t number = 0; number < tensors.size(); ++number) {
        const TensorShape shape = shape_of(tensors[number]);
        const CodecMember member{shape, static_cast<std::int64_t>(number), members.rank,
                                 members.size};
        tensors_.push_back({tensors[number],
                            codec_layout(entry.name, settings.level, shape, members.size),
                            make_codec(entry.name, plain, member)});
        elements = std::max(elements, tensors[number].begin + tensors[number].count);
    }
    kept_.assign(elements, 0.0F);
    corrected_.resize(elements);
    for (const Bucket& bucket : buckets) {
        lanes_.emplace_back();
        plan_operations(lanes_.back(), bucket);
    }
}

EncodedExchange::~EncodedExchange() = default;

void EncodedExchange::plan_operations(Lane& lane, const Bucket& bucket) {
    lane.begin = bucket.begin;
    lane.first_tensor = bucket.first_tensor;
    lane.end_tensor = bucket.end_tensor;
    std::size_t rounds = 0;
    for (std::size_t t = bucket.first_tensor; t < bucket.end_tensor; ++t) {
        rounds = std::max(rounds, tensors_[t].layout.rounds.size());
    }
    for (std::size_t round = 0; round < rounds; ++round) {
        const std::size_t first = lane.operations.size();
        for (std::size_t t = bucket.first_tensor; t < bucket.end_tensor; ++t) {
            if (round >= tensors_[t].layout.rounds.size()) continue;
            const WireRound& kind = tensors_[t].layout.rounds[round];
            const auto alike = [&](const Operation& each) {
                return each.kind.combination == kind.combination &&
                       each.kind.element == kind.element;
            };
            auto found = std::find_if(lane.operations.begin() + static_cast<std::ptrdiff_t>(first),
                                      lane.operations.end(), alike);
            if (found == lane.operations.end()) {
                Operation fresh;
                fresh.name =
                    fmt::format("{}/{}.{}", bucket.name, round, lane.operations.size() - first);
                fresh.round = round;
                fresh.kind = kind;
                found = lane.operations.insert(lane.operations.end(), std::move(fresh));
            }
            const auto bytes = static_cast<std::size_t>(kind.bytes());
            found->parts.push_back({t, found->message.size(), bytes});
            found->message.resize(found->message.size() + bytes);
        }
    }
}

void EncodedExchange::begin(std::int64_t step, const CodecMemory& memory, float weight) {
    step_ = step;
    weight_ = weight;
    if (memory.kept.empty()) {
        std::ranges::fill(kept_, 0.0F);
    } else {
        INVARIANT(memory.kept.size() == kept_.size());
        kept_ = memory.kept;
    }
    const bool same = memory.codec == settings_.codec && memory.level == settings_.level;
    std::size_t place = 0;
    for (Tensor& tensor : tensors_) {
        for (const std::span<float> part : tensor.codec->memory()) {
            if (!same || memory.shared.empty()) {
                std::ranges::fill(part, 0.0F);  // as new
                continue;
            }
            INVARIANT(place + part.size() <= memory.shared.size());
            std::ranges::copy(std::span(memory.shared).subspan(place, part.size()), part.begin());
            place += part.size();
        }
    }
    for (Lane& lane : lanes_) lane.measures = {};
}

Outcome EncodedExchange::carry_out(Lane& lane, Operation& operation, Communicator& peers,
                                   const Schedule& schedule) {
    for (const Operation::Part& part : operation.parts) {
        Tensor& tensor = tensors_[part.tensor];
        const auto gradient =
            std::span<const float>(corrected_).subspan(tensor.slice.begin, tensor.slice.count);
        tensor.codec->encode(operation.round, step_, gradient,
                             std::span(operation.message).subspan(part.begin, part.bytes));
    }
    lane.measures.bytes += static_cast<std::int64_t>(operation.message.size());
    const bool gathers = operation.kind.combination == Combination::gather;
    const auto ranks = static_cast<std::size_t>(members_.size);
    const auto sent = ExchangeClock::now();
    Outcome outcome = Outcome::ok;
    if (gathers) {
        operation.gathered.resize(operation.message.size() * ranks);
        outcome = peers.all_gather(operation.name, operation.message, operation.gathered);
    } else if (operation.kind.combination == Combination::broadcast) {
        outcome = peers.broadcast(operation.name, operation.message,
                                  static_cast<int>(step_ % members_.size));
    } else {
        outcome = peers.all_reduce(operation.name, schedule, reduction_of(operation.kind),
                                   operation.message);
    }
    lane.wire_ns += std::chrono::nanoseconds(ExchangeClock::now() - sent).count();
    if (outcome != Outcome::ok) return outcome;
    for (const Operation::Part& part : operation.parts) {
        auto result = std::span<const std::byte>(operation.message).subspan(part.begin, part.bytes);
        if (gathers) {
            operation.sorted.resize(part.bytes * ranks);
            for (std::size_t rank = 0; rank < ranks; ++rank) {
                const auto from =
                    std::span<const std::byte>(operation.gathered)
                        .subspan(rank * operation.message.size() + part.begin, part.bytes);
                std::ranges::copy(from, operation.sorted.begin() +
                                            static_cast<std::ptrdiff_t>(rank * part.bytes));
            }
            result = operation.sorted;
        }
        tensors_[part.tensor].codec->combined(operation.round, result);
    }
    return Outcome::ok;
}

Outcome EncodedExchange::exchange(std::size_t bucket, Communicator& peers, const Schedule& schedule,
                                  std::span<float> gradient) {
    const auto begun = ExchangeClock::now();
    Lane& lane = lanes_[bucket];
    lane.wire_ns = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
        corrected_[lane.begin + i] = weight_ * gradient[i] + kept_[lane.begin + i];
    }
    for (Operation& operation : lane.operations) {
        const Outcome outcome = carry_out(lane, operation, peers, schedule);
        if (outcome != Outcome::ok) return outcome;
    }
    for (std::size_t t = lane.first_tensor; t < lane.end_tensor; ++t) {
        const Tensor& tensor = tensors_[t];
        const TensorSlice& slice = tensor.slice;
        tensor.codec->decode(gradient.subspan(slice.begin - lane.begin, slice.count));
        lane.arrived.resize(slice.count);
        tensor.codec->contribution(lane.arrived);
        for (std::size_t i = 0; i < slice.count; ++i) {
            const float whole = corrected_[slice.begin + i];
            const float rest = whole - lane.arrived[i];
            lane.measures.lost += squared(rest);
            lane.measures.whole += squared(whole);
            kept_[slice.begin + i] = keeps_ ? rest : 0.0F;
        }
    }
    lane.measures.codec_ns +=
        std::chrono::nanoseconds(ExchangeClock::now() - begun).count() - lane.wire_ns;
    return Outcome::ok;
}

EncodedMeasures EncodedExchange::measures() const {
    EncodedMeasures sum;
    for (const Lane& lane : lanes_) {
        sum.codec_ns += lane.measures.codec_ns;
        sum.bytes += lane.measures.bytes;
        sum.lost += lane.measures.lost;
        sum.whole += lane.measures.whole;
    }
    return sum;
}

CodecMemory EncodedExchange::memory() {
    CodecMemory memory;
    memory.codec = settings_.codec;
    memory.level = settings_.level;
    if (keeps_) memory.kept = kept_;
    for (Tensor& tensor : tensors_) {
        for (const std::span<float> part : tensor.codec->memory()) {
            memory.shared.insert(memory.shared.end(), part.begin(), part.end());
        }
    }
    return memory;
}

}  // namespace ukemi::kernels
