// level_agenda.cpp — a heap whose entries are found by what they are of.
#include "sim/network/level_agenda.hpp"

namespace ukemi::sim {

std::uint32_t LevelAgenda::heap_top() {
    if (!heaped_) {
        heaped_ = true;
        for (std::size_t i = entries_.size() / 2; i-- > 0;) sink(static_cast<std::uint32_t>(i));
    }
    return 0;
}

void LevelAgenda::settle(std::uint32_t place) {
    const Item entry = entries_[place];
    const std::uint32_t from = place;
    while (place > 0 && entries_[(place - 1) / 2].is_after(entry)) {
        set(place, entries_[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    if (place == from) return sink(place);
    set(place, entry);
}

void LevelAgenda::sink(std::uint32_t place) {
    const Item entry = entries_[place];
    const auto size = static_cast<std::uint32_t>(entries_.size());
    for (std::uint32_t below = 2 * place + 1; below < size; below = 2 * place + 1) {
        if (below + 1 < size && entries_[below].is_after(entries_[below + 1])) ++below;
        if (!entry.is_after(entries_[below])) break;
        set(place, entries_[below]);
        place = below;
    }
    set(place, entry);
}

}  // namespace ukemi::sim
