#pragma once

#include <cstddef>
#include <string>

#include "io/table/cells.hpp"

/// Checks of structures of the Arrow C data interface, which a program of any origin has filled. They cover everything
/// that the interface states: lengths, offsets, numbers of buffers and children, text offsets, views and dictionary
/// indices. The sizes of buffers are not part of it, except those of views: the producer must allocate as many values
/// and as much text as the lengths and the offsets state.
namespace widthwise::python {

/// Throw kBadData unless this is the schema of a table.
void check_schema(const ArrowSchema& schema);

/// Throw kBadData unless this is a batch of rows of a table with this schema. Columns that are not read, such as dates
/// and lists, are checked for their lengths only.
void check_batch(const ArrowSchema& schema, const ArrowArray& batch);

/// Throw kBadData if a cell that is not missing, an integer, is no index into a dictionary of this many values. -1 may
/// mark missing values. `column` begins the message.
void check_indices(const std::string& column, const internal::Cells& cells, std::size_t values,
                   bool negative_is_missing);

}  // namespace widthwise::python
