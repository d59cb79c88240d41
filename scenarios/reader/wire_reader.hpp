// wire_reader.hpp — Protocol Buffers' wire format, which says where fields are but not what they
// mean (protobuf.dev/programming-guides/encoding).
//
// Twenty lines of format instead of a library and its compiler: what is read of a message is known
// by number, all else is passed over. Nothing is believed: lengths are checked against what is
// there, and every complaint has the byte at which it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ukemi::scenarios {

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct WireField {
    std::uint32_t number = 0;
    WireType type = WireType::varint;
    std::uint64_t value = 0;  // of the three numbers, as it stands there
    std::string_view bytes;   // of the other: a message, a string or packed numbers
    std::size_t at = 0;       // where `bytes` begin, in the file
};

class WireReader {
public:
    // A part of the file `name` that begins at its byte `at`. Both texts must outlive it.
    WireReader(std::string_view bytes, std::string_view name, std::size_t at = 0)
        : bytes_(bytes), name_(name), begin_(at) {}

    bool at_end() const { return at_ == bytes_.size(); }
    std::size_t place() const { return begin_ + at_; }

    // InputError if what comes is cut short, or no field.
    std::uint64_t varint();
    std::optional<WireField> next();  // nothing at the end
    // A length and so many bytes: a message of a file of several.
    WireField message();

    [[noreturn]] void fail(std::string_view problem) const;  // at the present byte

private:
    std::string_view take(std::uint64_t count);

    std::string_view bytes_;
    std::string_view name_;
    std::size_t begin_;
    std::size_t at_ = 0;
};

}  // namespace ukemi::scenarios
