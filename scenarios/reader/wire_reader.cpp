// wire_reader.cpp — varints, and the four ways in which a field stands in a message.
#include "scenarios/reader/wire_reader.hpp"

#include <fmt/format.h>

#include "base/input_error.hpp"

namespace ukemi::scenarios {

void WireReader::fail(std::string_view problem) const {
    throw InputError(name_, "", fmt::format("byte {}: {}", place(), problem));
}

std::string_view WireReader::take(std::uint64_t count) {
    if (count > bytes_.size() - at_) {
        fail(fmt::format("expected {} bytes more, found {}", count, bytes_.size() - at_));
    }
    const std::string_view taken = bytes_.substr(at_, static_cast<std::size_t>(count));
    at_ += taken.size();
    return taken;
}

std::uint64_t WireReader::varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        const auto byte = static_cast<unsigned char>(take(1).front());
        value |= std::uint64_t{byte & 0x7fU} << shift;
        if ((byte & 0x80U) == 0) return value;
    }
    fail("expected a number of at most ten bytes");
}

std::optional<WireField> WireReader::next() {
    if (at_end()) return std::nullopt;
    const std::size_t begin = at_;
    const std::uint64_t key = varint();
    WireField field;
    field.number = static_cast<std::uint32_t>(key >> 3);
    field.type = static_cast<WireType>(key & 7);
    const auto little_endian = [&](std::uint64_t count) {
        const std::string_view raw = take(count);
        for (std::size_t i = raw.size(); i-- > 0;) {
            field.value = field.value << 8 | static_cast<unsigned char>(raw[i]);
        }
    };
    switch (field.type) {
        case WireType::varint: field.value = varint(); break;
        case WireType::fixed64: little_endian(8); break;
        case WireType::fixed32: little_endian(4); break;
        case WireType::bytes: {
            const WireField inner = message();
            field.bytes = inner.bytes;
            field.at = inner.at;
            break;
        }
        default:
            at_ = begin;
            fail(fmt::format("expected a field (wire type 0, 1, 2 or 5), found type {}", key & 7));
    }
    if (field.number == 0) {
        at_ = begin;
        fail("expected a field with a number, found 0");
    }
    return field;
}

WireField WireReader::message() {
    const std::uint64_t length = varint();
    WireField field;
    field.type = WireType::bytes;
    field.at = place();
    field.bytes = take(length);
    return field;
}

}  // namespace ukemi::scenarios
