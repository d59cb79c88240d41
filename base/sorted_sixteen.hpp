// sorted_sixteen.hpp — at most sixteen entries in order of (time, key), without a branch of chance.
//
// Entries stay where they were put. Their order is one word of sixteen 4-bit numbers, so that an
// insertion shifts bits of that word and moves no entry. Where it belongs is counted over all
// sixteen: that is less work than one branch that the processor guesses wrongly.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ukemi {

struct CalendarEntry {
    std::int64_t at;    // never negative
    std::uint64_t key;  // unique, orders the entries of one time; top two bits: the rank

    friend bool operator<(const CalendarEntry& a, const CalendarEntry& b) {
        return a.at < b.at || (a.at == b.at && a.key < b.key);
    }
};

class SortedSixteen {
public:
    static constexpr unsigned capacity = 16;

    SortedSixteen() { clear(); }

    bool empty() const { return size_ == 0; }
    bool full() const { return size_ == capacity; }
    unsigned size() const { return size_; }

    // Beyond size(): an entry that was here, or zeros.
    CalendarEntry at(unsigned place) const {
        const unsigned slot = slot_of(place);
        return {static_cast<std::int64_t>(at_[slot]), key_[slot]};
    }

    // How many of them are at this time or before it.
    unsigned count_until(std::int64_t at) const {
        const auto after = static_cast<std::uint64_t>(at) + 1;
        return count_before(after, std::make_index_sequence<capacity / 2>());
    }

    // Not when full.
    void insert(const CalendarEntry& entry) {
        unsigned place = count_until(entry.at);
        // Few are of one time, and seldom out of order. In front of place 0 is 15, which is free.
        while (at_[slot_of(place - 1)] == static_cast<std::uint64_t>(entry.at) &&
               key_[slot_of(place - 1)] > entry.key) {
            --place;
        }
        const std::uint64_t slot = order_ >> 60;
        const std::uint64_t before = mask_before(place);
        order_ = (order_ & before) | slot << (4 * place) | (order_ & ~before) << 4;
        at_[slot] = static_cast<std::uint64_t>(entry.at);
        key_[slot] = entry.key;
        ++size_;
    }

    void drop_first() {
        at_[slot_of(0)] = free;
        order_ = std::rotr(order_, 4);
        --size_;
    }

    void erase(unsigned place) {
        const std::uint64_t slot = slot_of(place);
        const std::uint64_t before = mask_before(place);
        order_ = (order_ & before) | (order_ >> 4 & ~before) | slot << 60;
        at_[slot] = free;
        --size_;
    }

    // False if it is not here.
    bool erase(const CalendarEntry& entry) {
        for (unsigned place = count_until(entry.at); place-- > 0;) {
            if (key_[slot_of(place)] == entry.key) {
                erase(place);
                return true;
            }
            if (at_[slot_of(place)] != static_cast<std::uint64_t>(entry.at)) return false;
        }
        return false;
    }

    void clear() {
        at_.fill(free);
        order_ = 0xfedcba9876543210;
        size_ = 0;
    }

private:
    static constexpr std::uint64_t free = std::uint64_t{1} << 63;  // later than any time

    unsigned slot_of(unsigned place) const {
        return static_cast<unsigned>(order_ >> (4 * place % 64) & 15);
    }
    static std::uint64_t mask_before(unsigned place) {
        return (std::uint64_t{1} << (4 * place)) - 1;
    }

    // Two sums, so that one addition need not wait for the other.
    template <std::size_t... half>
    unsigned count_before(std::uint64_t after, std::index_sequence<half...>) const {
        unsigned even = 0, odd = 0;
        ((even += at_[2 * half] < after, odd += at_[2 * half + 1] < after), ...);
        return even + odd;
    }

    std::array<std::uint64_t, capacity> at_{};
    std::array<std::uint64_t, capacity> key_{};
    std::uint64_t order_ = 0;  // slots by place, soonest in the lowest bits; free ones come last
    unsigned size_ = 0;
};

}  // namespace ukemi
