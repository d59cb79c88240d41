// xml_reader.hpp — the little of XML that machines write, by pugixml: elements and attributes.
//
// A declaration, comments, one root; between elements white space only. pugixml takes more than
// that and says little of it, so text, CDATA, DTDs and processing instructions are refused here:
// nothing can expand, and nothing that is written is passed over.
#pragma once

#include <cstddef>
#include <pugixml.hpp>
#include <string_view>

namespace ukemi::sim {

inline constexpr std::size_t xml_depth_max = 64;
inline constexpr std::size_t xml_bytes_max = std::size_t{4} << 20;  // "<a/>" takes 20 times as much

class XmlFile {
public:
    // Throws InputError(FILE:LINE:COLUMN …). Both must outlive it.
    XmlFile(std::string_view text, std::string_view file);

    pugi::xml_node root() const { return document_.document_element(); }
    [[noreturn]] void refuse(pugi::xml_node at, std::string_view problem) const;

private:
    [[noreturn]] void refuse_at(std::size_t offset, std::string_view problem) const;
    void check_children(pugi::xml_node parent, std::size_t depth) const;

    std::string_view text_;
    std::string_view file_;
    pugi::xml_document document_;
};

}  // namespace ukemi::sim
