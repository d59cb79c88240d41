// wire.hpp — structs to bytes and back: each struct lists its fields once, for both ways.
//
// A struct that travels, or that is written down, has a `fields(T&)` in this namespace that ties
// its members in their order, an enumeration a `count_of(T)`. Little-endian; texts and lists carry
// their count as a u32. The Reader distrusts every byte: it never throws, and allocates no more
// than it is given.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.hpp"
#include "base/invariant.hpp"
#include "base/quantity.hpp"
#include "kernels/training_step.hpp"

namespace ukemi::runtime {

using ByteString = std::vector<std::uint8_t>;
inline constexpr std::size_t frame_bytes_max = std::size_t{4} << 20;

// Of what is computed elsewhere: a field added there must be added here.
inline auto fields(kernels::StepWord& m) {
    return std::tie(m.plan_version, m.plan_digest, m.step, m.wants_hold, m.rank, m.samples,
                    m.loss_sum, m.correct, m.local_squared_norm, m.average_squared_norm,
                    m.compute_ns, m.communication_ns, m.exposed_ns, m.input_ns, m.codec_ns,
                    m.sent_bytes, m.codec_lost, m.codec_whole, m.host, m.link_host,
                    m.link_round_trip_ns, m.link_bytes_per_second);
}
inline auto fields(kernels::StepReport& m) {
    return std::tie(m.words, m.samples, m.loss, m.accuracy, m.noise_measured, m.squared_norm,
                    m.covariance_trace, m.noise_scale, m.average_squared_norm, m.codec_error,
                    m.hold);
}
static_assert(sizeof(kernels::StepWord) == 160);
static_assert(sizeof(kernels::StepReport) == sizeof(std::vector<kernels::StepWord>) + 80);

constexpr std::uint8_t count_of(kernels::Outcome) {
    return static_cast<std::uint8_t>(kernels::Outcome::aborted) + 1;
}

template <class T>
concept Fixed = std::integral<T> && !std::same_as<T, bool>;

class FrameWriter {
public:
    explicit FrameWriter(ByteString& out) : out_(out) {}

    template <Fixed T>
    void put(T& value) {
        auto bits = static_cast<std::make_unsigned_t<T>>(value);
        for (std::size_t i = 0; i < sizeof(T); ++i) {
            out_.push_back(
                static_cast<std::uint8_t>((static_cast<std::uint64_t>(bits) >> (8 * i)) & 0xFFU));
        }
    }
    void put(bool& value) { out_.push_back(value ? 1 : 0); }
    void put(double& value) {
        auto bits = std::bit_cast<std::uint64_t>(value);
        put(bits);
    }
    template <class T>
        requires std::is_enum_v<T>
    void put(T& value) {
        out_.push_back(static_cast<std::uint8_t>(value));
    }
    void put(InstanceId& id) { put_number(index_of(id)); }
    void put(ZoneId& id) { put_number(index_of(id)); }
    void put(PlanVersion& version) { put_number(index_of(version)); }
    void put(Instant& at) { put_number(at.raw()); }
    void put(Price& price) { put_number(price.raw()); }
    void put(std::chrono::nanoseconds& time) { put_number(std::int64_t{time.count()}); }
    void put(std::filesystem::path& file) {
        std::string text = file.string();
        put(text);
    }
    void put(std::string& text) {
        put_count(text.size());
        out_.insert(out_.end(), text.begin(), text.end());
    }
    template <std::size_t n>
    void put(std::array<std::uint8_t, n>& bytes) {
        out_.insert(out_.end(), bytes.begin(), bytes.end());
    }
    template <class T>
    void put(std::vector<T>& list) {
        put_count(list.size());
        for (T& each : list) put(each);
    }
    template <class T>
    void put(std::optional<T>& value) {
        bool present = value.has_value();
        put(present);
        if (present) put(*value);
    }
    template <class... Ts>
    void put(std::variant<Ts...>& value) {
        auto which = static_cast<std::uint8_t>(value.index());
        put(which);
        std::visit([this](auto& each) { this->put(each); }, value);
    }
    template <class T>
        requires std::is_class_v<T>
    void put(T& value) {
        std::apply([this](auto&... each) { (this->put(each), ...); }, fields(value));
    }

private:
    template <Fixed T>
    void put_number(T number) {
        put(number);
    }
    void put_count(std::size_t count) {
        INVARIANT(count <= frame_bytes_max);
        auto narrow = static_cast<std::uint32_t>(count);
        put(narrow);
    }
    ByteString& out_;
};

class FrameReader {
public:
    explicit FrameReader(std::span<const std::uint8_t> in) : left_(in) {}
    const std::string& problem() const { return problem_; }
    std::size_t left() const { return left_.size(); }

    template <Fixed T>
    void get(T& value) {
        std::uint64_t bits = 0;
        const auto bytes = take(sizeof(T));
        for (std::size_t i = 0; i < bytes.size(); ++i) bits |= std::uint64_t{bytes[i]} << (8 * i);
        value = static_cast<T>(bits);
    }
    void get(bool& value) {
        std::uint8_t byte = 0;
        get(byte);
        if (byte > 1) fail("a flag that is neither 0 nor 1");
        value = byte == 1;
    }
    void get(double& value) {
        std::uint64_t bits = 0;
        get(bits);
        value = std::bit_cast<double>(bits);
    }
    template <class T>
        requires std::is_enum_v<T>
    void get(T& value) {
        std::uint8_t byte = 0;
        get(byte);
        if (byte >= count_of(T{})) return fail("an enumerator out of range");
        value = static_cast<T>(byte);
    }
    void get(InstanceId& id) { id = InstanceId{got<std::uint32_t>()}; }
    void get(ZoneId& id) { id = ZoneId{got<std::uint32_t>()}; }
    void get(PlanVersion& version) { version = PlanVersion{got<std::uint32_t>()}; }
    void get(Instant& at) { at = Instant::at(Duration::of(got<std::int64_t>())); }
    void get(Price& price) { price = Price::of(got<std::int64_t>()); }
    void get(std::chrono::nanoseconds& time) {
        time = std::chrono::nanoseconds(got<std::int64_t>());
    }
    void get(std::filesystem::path& file) { file = got<std::string>(); }
    void get(std::string& text) {
        const auto bytes = take(get_count(1));
        text.assign(bytes.begin(), bytes.end());
    }
    template <std::size_t n>
    void get(std::array<std::uint8_t, n>& out) {
        const auto bytes = take(n);
        std::copy(bytes.begin(), bytes.end(), out.begin());
    }
    template <class T>
    void get(std::vector<T>& list) {
        // An element is never shorter than this, so a false count cannot make us allocate much.
        constexpr std::size_t least = std::is_class_v<T> ? 4 : sizeof(T);
        const std::size_t count = get_count(least);
        list.clear();
        for (std::size_t i = 0; i < count && problem_.empty(); ++i) get(list.emplace_back());
    }
    template <class T>
    void get(std::optional<T>& value) {
        bool present = false;
        get(present);
        if (present) get(value.emplace());
    }
    template <class... Ts>
    void get(std::variant<Ts...>& value) {
        const auto which = got<std::uint8_t>();
        if (which >= sizeof...(Ts)) return fail("a message of an unknown type");
        get_alternative(which, value);
    }
    template <class... Ts>
    void get_alternative(std::size_t which, std::variant<Ts...>& value) {
        [&]<std::size_t... type>(std::index_sequence<type...>) {
            ((type == which ? get(value.template emplace<type>()) : void()), ...);
        }(std::make_index_sequence<sizeof...(Ts)>());
    }
    template <class T>
        requires std::is_class_v<T>
    void get(T& value) {
        std::apply([this](auto&... each) { (this->get(each), ...); }, fields(value));
    }
    void fail(std::string problem) {
        if (problem_.empty()) problem_ = std::move(problem);
        left_ = {};
    }

private:
    template <class T>
    T got() {
        T value{};
        get(value);
        return value;
    }
    std::span<const std::uint8_t> take(std::size_t count) {
        if (count > left_.size()) {
            fail("a frame that ends too early");
            return {};
        }
        const auto taken = left_.first(count);
        left_ = left_.subspan(count);
        return taken;
    }
    std::size_t get_count(std::size_t element_bytes) {
        std::uint32_t count = 0;
        get(count);
        if (count <= left_.size() / element_bytes) return count;
        fail("a list longer than its frame");
        return 0;
    }
    std::span<const std::uint8_t> left_;
    std::string problem_;
};

}  // namespace ukemi::runtime
