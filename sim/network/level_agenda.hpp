// level_agenda.hpp — what filling comes to next: events of links and flows in the order of levels.
//
// A link or a flow has one event at most; another takes its place, so that no event that counts no
// more is ever met. Looking through all is faster than keeping them in order: most often few full
// links settle everything. Many that are asked often are a heap.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "sim/network/plain_list.hpp"

namespace ukemi::sim {

enum class LevelEvent : std::uint8_t {
    link_full,
    cap_reached,  // by a flow
    link_wakes,   // its old level has passed
};

class LevelAgenda {
public:
    struct Entry {
        double level = 0;
        LevelEvent event{};
        std::uint32_t index = 0;  // of the link or the flow
    };

    // All numbers of links and flows are below this from now on.
    void reserve(std::size_t count) {
        if (2 * count > places_.size()) places_.resize(2 * count, nowhere);
    }
    bool empty() const { return entries_.empty(); }
    // In place of what the link or flow had.
    void put(LevelEvent event, std::uint32_t index, double level) {
        const Item entry{std::bit_cast<std::uint64_t>(level + 0.0),  // which makes -0 be 0
                         static_cast<std::uint64_t>(event) << 32 | index};
        const std::uint32_t key = key_of(entry);
        std::uint32_t& place = places_[key];
        if (place == nowhere) {
            place = static_cast<std::uint32_t>(entries_.size());
            entries_.push(entry);
        } else {
            entries_[place] = entry;
        }
        if (heaped_) settle(place);
    }
    void erase_link(std::uint32_t index) { erase(2 * index); }
    void erase_flow(std::uint32_t index) { erase(2 * index + 1); }
    // The first of all; not empty.
    Entry take() {
        const std::uint32_t first = heaped_ || is_asked_often() ? heap_top() : least();
        const Item item = entries_[first];
        erase(key_of(item));
        return {std::bit_cast<double>(item.level), item.event(), item.index()};
    }

private:
    static constexpr std::uint32_t nowhere = 0xffffffff;
    // Measured: a dozen scans cost what a heap of them does; of a few it never pays.
    static constexpr std::uint32_t scans_max = 12;
    static constexpr std::size_t few = 16;
    bool is_asked_often() { return entries_.size() > few && ++scans_ > scans_max; }

    // Bits of doubles above zero are in the order of their values, and are compared without jumps,
    // which nobody could foresee.
    struct Item {
        std::uint64_t level = 0;
        std::uint64_t what = 0;  // the event, then the index

        LevelEvent event() const { return static_cast<LevelEvent>(what >> 32); }
        std::uint32_t index() const { return static_cast<std::uint32_t>(what); }
        unsigned __int128 order() const {
            return static_cast<unsigned __int128>(level) << 64 | what;
        }
        bool is_after(const Item& other) const { return order() > other.order(); }
    };
    static std::uint32_t key_of(const Item& item) {
        return 2 * item.index() + (item.event() == LevelEvent::cap_reached ? 1 : 0);
    }
    std::uint32_t least() const {
        const Item* first = entries_.begin();
        unsigned __int128 of_first = first->order();
        for (const Item* item = first + 1; item != entries_.end(); ++item) {
            const unsigned __int128 order = item->order();
            const bool before = order < of_first;
            first = before ? item : first;
            of_first = before ? order : of_first;
        }
        return static_cast<std::uint32_t>(first - entries_.begin());
    }
    void erase(std::uint32_t key) {
        if (places_[key] == nowhere) return;
        const std::uint32_t place = places_[key];
        places_[key] = nowhere;
        const Item last = entries_.back();
        entries_.pop();
        if (place == entries_.size()) {
            if (place == 0) {
                heaped_ = false;
                scans_ = 0;
            }
            return;
        }
        entries_[place] = last;
        places_[key_of(last)] = place;
        if (heaped_) settle(place);
    }
    std::uint32_t heap_top();
    void settle(std::uint32_t place);  // moves it up or down to where it belongs
    void sink(std::uint32_t place);
    void set(std::uint32_t place, const Item& entry) {
        entries_[place] = entry;
        places_[key_of(entry)] = place;
    }

    PlainList<Item> entries_;
    std::vector<std::uint32_t> places_;  // of links' and flows' entries, in turn
    std::uint32_t scans_ = 0;            // of many, since it was empty
    bool heaped_ = false;
};

}  // namespace ukemi::sim
