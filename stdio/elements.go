package stdio

import "iter"

// elements returns the elements of a batch, which is a JSON array, in their order
// and as they stand in its line, and whether it is one. Whether an element is a
// message is another question.
//
// The whole array is looked at before the first element is returned: nothing of a
// broken batch is delivered. The elements are found once more while they are taken,
// so that no number of them costs memory.
func elements(line []byte) (all iter.Seq[[]byte], ok bool) {
	begin := skipSpace(line, 0)
	if at(line, begin) != '[' {
		return nil, false
	}
	end := skipArray(line, begin, maxDepth+1) // each may be as deep as one alone
	if end < 0 || skipSpace(line, end) != len(line) {
		return nil, false
	}
	return func(yield func([]byte) bool) {
		i := skipSpace(line, begin+1)
		for at(line, i) != ']' {
			end := skipValue(line, i, maxDepth)
			if !yield(line[i:end:end]) {
				return
			}
			if i = skipSpace(line, end); at(line, i) == ',' {
				i = skipSpace(line, i+1)
			}
		}
	}, true
}
